import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.Any;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.util.JsonFormat;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCalls;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Calls the sidecar with grpc-java. Messages are built from the contract's descriptors, so nothing is generated. The input is a
 * line of JSON. The output has a line for each response, a line for the error if there is one, and a line for the end.
 */
final class Client {
  private static final Map<String, FileDescriptor> FILES = new HashMap<>();

  private static final JsonFormat.TypeRegistry DETAILS =
      JsonFormat.TypeRegistry.newBuilder()
          .add(ErrorInfo.getDescriptor())
          .add(BadRequest.getDescriptor())
          .build();

  private static final JsonFormat.Printer PRINTER =
      JsonFormat.printer()
          .usingTypeRegistry(DETAILS)
          .preservingProtoFieldNames()
          .alwaysPrintFieldsWithNoPresence()
          .omittingInsignificantWhitespace();

  public static void main(String[] flags) throws Exception {
    List<String> given = Arrays.asList(flags);
    Path protos = Path.of(given.get(given.indexOf("--protos") + 1));
    String address = given.get(given.indexOf("--address") + 1);
    for (String name : List.of("portcullis.binpb", "health.binpb")) load(protos.resolve(name));
    ManagedChannel channel = NettyChannelBuilder.forTarget(address).usePlaintext().build();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonObject row = JsonParser.parseString(line).getAsJsonObject();
      if (row.has("pace")) askForLong(channel, row);
      else ask(channel, row);
      JsonObject end = new JsonObject();
      end.addProperty("end", true);
      System.out.println(end);
    }
    channel.shutdownNow();
  }

  private static void load(Path path) throws Exception {
    try (InputStream bytes = Files.newInputStream(path)) {
      // Each file comes after those that it imports.
      for (FileDescriptorProto file : FileDescriptorSet.parseFrom(bytes).getFileList()) {
        List<FileDescriptor> imported = new ArrayList<>();
        for (String name : file.getDependencyList()) imported.add(FILES.get(name));
        FILES.put(
            file.getName(),
            FileDescriptor.buildFrom(file, imported.toArray(FileDescriptor[]::new)));
      }
    }
  }

  private static void ask(ManagedChannel channel, JsonObject row) throws Exception {
    MethodDescriptor method = method(row.get("call").getAsString());
    CallOptions options =
        CallOptions.DEFAULT.withDeadlineAfter(
            row.get("deadline_ms").getAsLong(), TimeUnit.MILLISECONDS);
    if (row.has("compression"))
      options = options.withCompression(row.get("compression").getAsString());
    int responsesMax = row.has("responses_max") ? row.get("responses_max").getAsInt() : -1;
    ClientCall<DynamicMessage, DynamicMessage> call = channel.newCall(typed(method), options);
    CompletableFuture<Void> ended = new CompletableFuture<>();
    call.start(new Printer(call, responsesMax, ended), metadata(row));
    if (responsesMax < 0) call.request(Integer.MAX_VALUE);
    else call.request(responsesMax);
    for (JsonElement request : row.getAsJsonArray("requests")) {
      DynamicMessage.Builder message = DynamicMessage.newBuilder(method.getInputType());
      JsonFormat.parser().merge(request.toString(), message);
      call.sendMessage(message.build());
    }
    call.halfClose();
    ended.get();
  }

  /** Asks on several streams, and prints how often it got which answer. */
  private static void askForLong(ManagedChannel channel, JsonObject row) throws Exception {
    MethodDescriptor method = method(row.get("call").getAsString());
    JsonObject pace = row.getAsJsonObject("pace");
    List<DynamicMessage> requests = new ArrayList<>();
    for (JsonElement request : row.getAsJsonArray("requests")) {
      DynamicMessage.Builder message = DynamicMessage.newBuilder(method.getInputType());
      JsonFormat.parser().merge(request.toString(), message);
      requests.add(message.build());
    }
    Map<String, Integer> tallies = new ConcurrentHashMap<>();
    List<Tallying> streams = new ArrayList<>();
    for (int index = 0; index < pace.get("streams").getAsInt(); index++) {
      CallOptions options =
          CallOptions.DEFAULT.withDeadlineAfter(
              row.get("deadline_ms").getAsLong(), TimeUnit.MILLISECONDS);
      streams.add(new Tallying(channel, method, options, requests, pace, tallies));
    }
    for (Tallying stream : streams) stream.start();
    for (Tallying stream : streams) {
      stream.join();
      if (!stream.status.isOk()) print("error", describe(stream.status, stream.trailers));
    }
    JsonObject counted = new JsonObject();
    tallies.forEach(counted::addProperty);
    print("response", counted);
  }

  /** A stream that asks the same questions again and again. */
  private static final class Tallying extends Thread {
    private final ManagedChannel channel;
    private final MethodDescriptor method;
    private final CallOptions options;
    private final List<DynamicMessage> requests;
    private final JsonObject pace;
    private final Map<String, Integer> tallies;
    private final Semaphore room;
    private final CompletableFuture<Status> ended = new CompletableFuture<>();
    private volatile boolean over = false;
    Status status = Status.UNKNOWN;
    Metadata trailers = new Metadata();

    Tallying(
        ManagedChannel channel,
        MethodDescriptor method,
        CallOptions options,
        List<DynamicMessage> requests,
        JsonObject pace,
        Map<String, Integer> tallies) {
      this.channel = channel;
      this.method = method;
      this.options = options;
      this.requests = requests;
      this.pace = pace;
      this.tallies = tallies;
      this.room = new Semaphore(pace.get("in_flight").getAsInt());
    }

    @Override
    public void run() {
      if (method.isClientStreaming()) askStream();
      else askCalls();
    }

    /** Each question is a separate call. */
    private void askCalls() {
      try {
        for (int index = 0; index < pace.get("count").getAsInt(); index++) {
          int at = index % requests.size();
          DynamicMessage response =
              ClientCalls.blockingUnaryCall(channel, typed(method), options, requests.get(at));
          tallies.merge(at + " " + field(response, "allowed"), 1, Integer::sum);
        }
        status = Status.OK;
      } catch (StatusRuntimeException error) {
        status = error.getStatus();
        if (error.getTrailers() != null) trailers = error.getTrailers();
      }
    }

    private void askStream() {
      ClientCall<DynamicMessage, DynamicMessage> call = channel.newCall(typed(method), options);
      int restEvery = pace.get("rest_every").getAsInt();
      call.start(
          new ClientCall.Listener<DynamicMessage>() {
            private int answered = 0;

            @Override
            public void onMessage(DynamicMessage response) {
              DynamicMessage due = requests.get(answered++ % requests.size());
              String id = text(response, "id");
              DynamicMessage result = (DynamicMessage) field(response, "result");
              String key =
                  id.equals(text(due, "id")) ? id + " " + field(result, "allowed") : "out of order";
              tallies.merge(key, 1, Integer::sum);
              try {
                if (restEvery > 0 && answered % restEvery == 0)
                  Thread.sleep(pace.get("rest_ms").getAsLong());
              } catch (InterruptedException error) {
                call.cancel("interrupted", error);
              }
              call.request(1);
              room.release();
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
              Tallying.this.trailers = trailers;
              over = true;
              room.release(requests.size());
              ended.complete(status);
            }
          },
          new Metadata());
      call.request(1);
      for (int index = 0; index < pace.get("count").getAsInt(); index++) {
        room.acquireUninterruptibly();
        if (over) break;
        call.sendMessage(requests.get(index % requests.size()));
      }
      if (!over) call.halfClose();
      status = ended.join();
    }

    private static Object field(DynamicMessage message, String name) {
      return message.getField(message.getDescriptorForType().findFieldByName(name));
    }

    private static String text(DynamicMessage message, String name) {
      return (String) field(message, name);
    }
  }

  private static final class Printer extends ClientCall.Listener<DynamicMessage> {
    private final ClientCall<?, ?> call;
    private final int responsesMax;
    private final CompletableFuture<Void> ended;
    private int number = 0;

    Printer(ClientCall<?, ?> call, int responsesMax, CompletableFuture<Void> ended) {
      this.call = call;
      this.responsesMax = responsesMax;
      this.ended = ended;
    }

    @Override
    public void onMessage(DynamicMessage response) {
      try {
        print("response", JsonParser.parseString(PRINTER.print(response)));
      } catch (IOException error) {
        call.cancel("a response cannot be printed", error);
      }
      number++;
      if (number == responsesMax) call.cancel("enough", null);
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      try {
        if (!status.isOk() && number != responsesMax) print("error", describe(status, trailers));
        ended.complete(null);
      } catch (IOException error) {
        ended.completeExceptionally(error);
      }
    }
  }

  private static JsonObject describe(Status status, Metadata trailers) throws IOException {
    JsonArray details = new JsonArray();
    for (Any detail : StatusProto.fromStatusAndTrailers(status, trailers).getDetailsList())
      details.add(JsonParser.parseString(PRINTER.print(detail)));
    JsonObject found = new JsonObject();
    found.addProperty("code", status.getCode().name());
    found.addProperty("message", status.getDescription());
    found.add("details", details);
    return found;
  }

  private static void print(String name, JsonElement value) {
    JsonObject line = new JsonObject();
    line.add(name, value);
    System.out.println(line);
  }

  private static Metadata metadata(JsonObject row) {
    Metadata found = new Metadata();
    if (!row.has("metadata")) return found;
    for (Map.Entry<String, JsonElement> entry : row.getAsJsonObject("metadata").entrySet()) {
      String value = entry.getValue().getAsString();
      if (entry.getKey().endsWith("-bin"))
        found.put(
            Metadata.Key.of(entry.getKey(), Metadata.BINARY_BYTE_MARSHALLER),
            Base64.getDecoder().decode(value));
      else found.put(Metadata.Key.of(entry.getKey(), Metadata.ASCII_STRING_MARSHALLER), value);
    }
    return found;
  }

  private static MethodDescriptor method(String call) {
    String[] parts = call.split("/");
    for (FileDescriptor file : FILES.values())
      if (file.findServiceByName(parts[0]) != null)
        return file.findServiceByName(parts[0]).findMethodByName(parts[1]);
    throw new IllegalArgumentException("no service " + parts[0]);
  }

  private static io.grpc.MethodDescriptor<DynamicMessage, DynamicMessage> typed(
      MethodDescriptor method) {
    String service = method.getService().getFullName();
    return io.grpc.MethodDescriptor.<DynamicMessage, DynamicMessage>newBuilder()
        .setType(typeOf(method))
        .setFullMethodName(
            io.grpc.MethodDescriptor.generateFullMethodName(service, method.getName()))
        .setRequestMarshaller(marshaller(method.getInputType()))
        .setResponseMarshaller(marshaller(method.getOutputType()))
        .build();
  }

  private static io.grpc.MethodDescriptor.MethodType typeOf(MethodDescriptor method) {
    if (method.isClientStreaming()) return io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING;
    if (method.isServerStreaming()) return io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING;
    return io.grpc.MethodDescriptor.MethodType.UNARY;
  }

  private static io.grpc.MethodDescriptor.Marshaller<DynamicMessage> marshaller(Descriptor type) {
    return ProtoUtils.marshaller(DynamicMessage.getDefaultInstance(type));
  }
}
