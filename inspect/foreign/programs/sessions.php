<?php
// debian: php-redis=5.3.7+4.3.0-3 php-cli=2:8.2+93
// lock: lockshop_*_LOCK
// Sessions with locking on: while a request runs, the session's key has a lock beside it, the random value of that request.
ini_set('session.save_handler', 'redis');
ini_set('redis.session.locking_enabled', '1');
ini_set('redis.session.lock_expire', '60');
ini_set('session.use_cookies', '0');
ini_set('session.cache_limiter', '');
foreach (['PHPREDIS_SESSION:', 'lockshop_'] as $i => $prefix) {
    ini_set('session.save_path', "tcp://{$argv[1]}?prefix=" . urlencode($prefix));
    session_id('quiet' . $i); session_start(); $_SESSION['user'] = 7; session_write_close();
}
session_id('busy'); session_start(); $_SESSION['cart'] = [1, 2];
[$host, $port] = explode(':', $argv[1]);
$r = new Redis(); $r->connect($host, (int)$port);
$r->incr('unlock_counter'); $r->set('locked_until', (string)(time() + 600), 600);
echo "ready\n";
fgets(STDIN);
