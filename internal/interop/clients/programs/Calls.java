// The same as calls.py.
import io.grpc.*;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.*;
import java.util.*;
import java.util.concurrent.*;

public class Calls {
  static final String UNARY = "rpcgate.test.v1.EchoService/Unary", CHECK = "grpc.health.v1.Health/Check";

  static final MethodDescriptor.Marshaller<byte[]> BYTES = new MethodDescriptor.Marshaller<>() {
    public InputStream stream(byte[] value) { return new ByteArrayInputStream(value); }

    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  };

  static byte[] message(int size) {
    var out = new ByteArrayOutputStream();
    out.write(0x0a);
    int n = size;
    for (; n > 127; n >>= 7) out.write(n & 127 | 128);
    out.write(n);
    for (int i = 0; i < size; i++) out.write('x');
    return out.toByteArray();
  }

  static String call(Channel channel, String method, byte[] request) {
    var descriptor = MethodDescriptor.<byte[], byte[]>newBuilder().setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName(method).setRequestMarshaller(BYTES).setResponseMarshaller(BYTES).build();
    try {
      var options = CallOptions.DEFAULT.withDeadlineAfter(30, TimeUnit.SECONDS);
      boolean same = Arrays.equals(request, ClientCalls.blockingUnaryCall(channel, descriptor, options, request));
      return same || method.equals(CHECK) ? "OK" : "ANOTHER TEXT";
    } catch (StatusRuntimeException e) {
      var code = e.getStatus().getCode();
      return code == Status.Code.RESOURCE_EXHAUSTED ? code.name() : code + " " + e.getStatus().getDescription();
    }
  }

  static String json(Map<String, Integer> counts) {
    var parts = new StringJoiner(", ", "{", "}");
    counts.forEach((k, n) -> parts.add(quote(k) + ": " + n));
    return parts.toString();
  }

  static String quote(String text) { return '"' + text.replace('\\', '/').replace('"', '\'').replace('\n', ' ') + '"'; }

  public static void main(String[] args) throws Exception {
    var builder = NettyChannelBuilder.forTarget("dns:///" + args[1]).usePlaintext();
    if (args[0].equals("retry")) {
      var policy = Map.of("maxAttempts", 5.0, "initialBackoff", args[2], "maxBackoff", args[2], "backoffMultiplier", 1.0,
          "retryableStatusCodes", List.of("RESOURCE_EXHAUSTED"));
      var channel = builder.enableRetry()
          .defaultServiceConfig(Map.of("methodConfig", List.of(Map.of("name", List.of(Map.of()), "retryPolicy", policy)))).build();
      System.out.println("{\"code\": " + quote(call(channel, UNARY, message(5))) + "}");
      System.exit(0);
    }
    var channel = builder.maxInboundMessageSize(1 << 30).build();
    var request = message(Integer.parseInt(args[2]));
    var refused = new ConcurrentSkipListMap<String, Integer>();
    var innocent = new ConcurrentSkipListMap<String, Integer>();
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < 8; i++) {
      var thread = new Thread(() -> {
        for (int n = 0; n < 25; n++) {
          refused.merge(call(channel, UNARY, request), 1, Integer::sum);
          innocent.merge(call(channel, CHECK, new byte[0]), 1, Integer::sum);
        }
      });
      thread.start();
      threads.add(thread);
    }
    for (var thread : threads) thread.join();
    System.out.println("{\"refused\": " + json(refused) + ", \"innocent\": " + json(innocent) + "}");
    System.out.flush();
    new BufferedReader(new InputStreamReader(System.in)).readLine();
    System.out.println("{\"code\": " + quote(call(channel, UNARY, request)) + "}");
    System.exit(0);
  }
}
