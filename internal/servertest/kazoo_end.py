"""Ends the session of a client that died, as the server does when the session's time has run out."""
import sys
from kazoo.client import KazooClient

client = KazooClient(hosts=sys.argv[1], client_id=(int(sys.argv[2]), bytes.fromhex(sys.argv[3])))
client.start()
client.stop()
client.close()
