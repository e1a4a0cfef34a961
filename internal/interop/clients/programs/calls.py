# What gRPC clients of all languages do here. Messages are bytes: field 1 of an echo request and of its response.
#
#   retry ADDR BACKOFF  makes a call with a retry policy, and prints its code.
#   flood ADDR SIZE     makes calls that are refused and health checks by turns, on 8 threads and one channel, prints what
#                       they got, waits for a line, and makes a call that should be admitted.
#   streams ADDR        does the same with bidirectional streams whose requests do not end, one after the other. Only here.
import collections, json, sys, threading
import grpc

UNARY, CHECK = "/rpcgate.test.v1.EchoService/Unary", "/grpc.health.v1.Health/Check"
BIDI = "/rpcgate.test.v1.EchoService/BidiStream"


def message(size):
    n, varint = size, b""
    while n > 127:
        varint, n = varint + bytes([n & 127 | 128]), n >> 7
    return b"\x0a" + varint + bytes([n]) + b"x" * size


def call(channel, method, request):
    try:
        same = channel.unary_unary(method)(request, timeout=30) == request
        return "OK" if same or method == CHECK else "ANOTHER TEXT"
    except grpc.RpcError as err:
        return err.code().name + ("" if err.code().name == "RESOURCE_EXHAUSTED" else " " + err.details())


def retry(addr, backoff):
    policy = {"maxAttempts": 5, "initialBackoff": backoff, "maxBackoff": backoff, "backoffMultiplier": 1,
              "retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}
    config = json.dumps({"methodConfig": [{"name": [{}], "retryPolicy": policy}]})
    with grpc.insecure_channel(addr, options=[("grpc.service_config", config)]) as channel:
        print(json.dumps({"code": call(channel, UNARY, message(5))}))


def flood(addr, size):
    request = message(int(size))
    with grpc.insecure_channel(addr, options=[("grpc.max_receive_message_length", -1)]) as channel:
        refused, innocent = collections.Counter(), collections.Counter()

        def work():
            for _ in range(25):
                refused[call(channel, UNARY, request)] += 1
                innocent[call(channel, CHECK, b"")] += 1

        threads = [threading.Thread(target=work) for _ in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(json.dumps({"refused": refused, "innocent": innocent}), flush=True)
        sys.stdin.readline()
        print(json.dumps({"code": call(channel, UNARY, request)}))


def streams(addr):
    with grpc.insecure_channel(addr) as channel:
        refused, innocent = collections.Counter(), collections.Counter()
        for _ in range(60):
            over = threading.Event()

            def requests():
                yield message(5)
                over.wait()

            try:
                for _ in channel.stream_stream(BIDI)(requests(), timeout=30):
                    pass
                refused["OK"] += 1
            except grpc.RpcError as err:
                code = err.code().name
                refused[code if code == "RESOURCE_EXHAUSTED" else code + " " + err.details()] += 1
            over.set()
            innocent[call(channel, CHECK, b"")] += 1
        print(json.dumps({"refused": refused, "innocent": innocent}), flush=True)
        sys.stdin.readline()
        print(json.dumps({"code": call(channel, UNARY, message(5))}))


{"retry": retry, "flood": flood, "streams": streams}[sys.argv[1]](*sys.argv[2:])
