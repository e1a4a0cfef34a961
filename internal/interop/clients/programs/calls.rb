# The same as calls.py.
require "grpc"
require "json"

UNARY, CHECK = "/rpcgate.test.v1.EchoService/Unary", "/grpc.health.v1.Health/Check"
BYTES = ->(bytes) { bytes }

def message(size)
  varint = "".b
  n = size
  while n > 127
    varint << (n & 127 | 128)
    n >>= 7
  end
  "\x0a".b + varint + n.chr + ("x" * size).b
end

def call(stub, method, request)
  same = stub.request_response(method, request, BYTES, BYTES, deadline: Time.now + 30) == request
  same || method == CHECK ? "OK" : "ANOTHER TEXT"
rescue GRPC::ResourceExhausted
  "RESOURCE_EXHAUSTED"
rescue GRPC::BadStatus => e
  "#{e.class.name} #{e.details}"
end

def stub(addr, args = {})
  GRPC::ClientStub.new(addr, :this_channel_is_insecure, channel_args: args)
end

case ARGV[0]
when "retry"
  policy = { maxAttempts: 5, initialBackoff: ARGV[2], maxBackoff: ARGV[2], backoffMultiplier: 1,
             retryableStatusCodes: ["RESOURCE_EXHAUSTED"] }
  config = { methodConfig: [{ name: [{}], retryPolicy: policy }] }.to_json
  puts({ code: call(stub(ARGV[1], "grpc.service_config" => config), UNARY, message(5)) }.to_json)
when "flood"
  client, request = stub(ARGV[1]), message(ARGV[2].to_i)
  refused, innocent, lock = Hash.new(0), Hash.new(0), Mutex.new
  threads = 8.times.map do
    Thread.new do
      25.times do
        got = [call(client, UNARY, request), call(client, CHECK, "")]
        lock.synchronize { refused[got[0]] += 1; innocent[got[1]] += 1 }
      end
    end
  end
  threads.each(&:join)
  puts({ refused: refused, innocent: innocent }.to_json)
  STDOUT.flush
  STDIN.gets
  puts({ code: call(client, UNARY, request) }.to_json)
end
