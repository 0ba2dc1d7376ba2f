# debian: ruby-sidekiq=6.4.1+dfsg-1 ruby-redis-store=1.9.0-2
# Queues, retries, schedules, processes and their work, metrics; caches of redis-store.
require 'sidekiq'
require 'redis-store'
host, port = ARGV[0].split(':')
Sidekiq.configure_client { |c| c.redis = { url: "redis://#{ARGV[0]}/0" } }
class LockJob
  include Sidekiq::Worker
  sidekiq_options queue: 'unlocks'
  def perform(what)
    raise 'no' if what == 'bad'
    sleep 100 if what == 'slow'
  end
end
File.write('/tmp/lockjob-boot.rb', <<~RUBY)
  require 'sidekiq'
  Sidekiq.configure_server { |c| c.redis = { url: "redis://#{ARGV[0]}/0" } }
  class LockJob
    include Sidekiq::Worker
    sidekiq_options queue: 'unlocks'
    def perform(what)
      raise 'no' if what == 'bad'
      sleep 100 if what == 'slow'
    end
  end
RUBY
%w[ok bad slow].each { |w| LockJob.perform_async(w) }
LockJob.perform_in(3600, 'later')
store = Redis::Store.new(host: host, port: port.to_i)
store.set('blocks:tip', { 'hash' => 'ab' })
store.setex('lock-page', 60, 'html')
server = spawn('sidekiq', '-r', '/tmp/lockjob-boot.rb', '-q', 'unlocks', '-c', '1', out: '/dev/null', err: '/dev/null')
sleep 8
LockJob.perform_async('ok')
puts 'ready'
$stdout.flush
$stdin.read
Process.kill('KILL', server)
