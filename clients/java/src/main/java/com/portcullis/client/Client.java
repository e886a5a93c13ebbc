package com.portcullis.client;

import static java.util.Objects.requireNonNull;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.protobuf.Timestamp;
import com.portcullis.v1.Api;
import com.portcullis.v1.AuthorizationServiceGrpc;
import com.portcullis.v1.AuthorizationServiceGrpc.AuthorizationServiceFutureStub;
import com.portcullis.v1.CheckBatchRequest;
import com.portcullis.v1.CheckResponse;
import com.portcullis.v1.GetMatrixRequest;
import com.portcullis.v1.IssueRequest;
import com.portcullis.v1.IssueResponse;
import com.portcullis.v1.PlanRequest;
import com.portcullis.v1.PlanResponse;
import com.portcullis.v1.RevokeRequest;
import com.portcullis.v1.RevokeResponse;
import com.portcullis.v1.WatchChangesRequest;
import com.portcullis.v1.WatchChangesResponse;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptors;
import io.grpc.ConnectivityState;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.lang.ref.Cleaner;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * A connection to a sidecar. It opens at the first call, and again after a failure. All methods may
 * be called by several threads at once. A client that is not closed does not keep the program
 * alive, and its stream ends when nothing refers to the client.
 *
 * <p>A denial is an answer. Where there is no answer, a call throws {@link PortcullisException}:
 * treat it as a denial. A call that would send a secret to another machine in plaintext throws
 * {@link IllegalStateException}.
 */
public final class Client implements AutoCloseable {
  /** Where a sidecar listens unless its configuration says otherwise. */
  public static final String DEFAULT_ADDRESS = "127.0.0.1:50051";

  /** Names the address of the sidecar. */
  private static final String ADDRESS_VARIABLE = "PORTCULLIS_GRPC_ADDRESS";

  /** The answer to a long batch exceeds the 4 MiB that gRPC accepts by default. */
  private static final int ANSWER_BYTES_MAX = 64 << 20;

  /** Most APIs and conflicts in a page of the matrix. */
  private static final int PAGE_SIZE = 1_000;

  /** The times of the contract are of the years 1 to 9999, in seconds since 1970. */
  private static final long SECONDS_MIN = -62_135_596_800L;

  private static final long SECONDS_MAX = 253_402_300_799L;
  private static final int NANOSECONDS_PER_SECOND = 1_000_000_000;

  /** Longest pause between two attempts to connect. */
  private static final long RECONNECT_MS = 1_600;

  /** Ends the streams of clients without a reference. */
  private static final Cleaner CLEANER = Cleaner.create();

  private final String address;
  private final Duration deadline;
  private final ManagedChannel connection;
  private final Channel channel;
  private final AuthorizationServiceFutureStub stub;

  /** Whether secrets may not be sent, because others could read them. */
  private final boolean isExposed;

  private final AnswerCache cache = new AnswerCache();
  private final Reports reports = new Reports(this::apisOfMatrix, this::isClosed);

  /** Null: each check is asked. */
  private final Memory memory;

  private final Follower follower;

  /**
   * Questions that are asked now. A text can be compared, so that a map finds it soon among many
   * that have one hash.
   */
  private final ConcurrentHashMap<String, CompletableFuture<Void>> asking =
      new ConcurrentHashMap<>();

  private Client(Builder options) {
    address = options.address;
    deadline = options.deadline;
    isExposed =
        options.tls == null && !options.isPlaintextAllowed && !Address.isThisMachine(address);
    var presented = new Presented(options.callerToken, options.callerTokenFile, options.iamToken);
    if (isExposed && !presented.isEmpty()) {
      throw exposed();
    }
    var builder =
        Grpc.newChannelBuilder(
                Address.target(address),
                options.tls == null ? InsecureChannelCredentials.create() : options.tls)
            .maxInboundMessageSize(ANSWER_BYTES_MAX)
            // A connection that died silently is noticed.
            .keepAliveTime(30, TimeUnit.SECONDS)
            .keepAliveTimeout(10, TimeUnit.SECONDS);
    if (options.tls == null || Address.isThisMachine(address)) {
      // gRPC alone would send plaintext through the proxy of the platform.
      builder.proxyDetector(target -> null);
    }
    connection = builder.build();
    reconnect(connection);
    channel = ClientInterceptors.intercept(connection, presented);
    stub = AuthorizationServiceGrpc.newFutureStub(options.intercepted.apply(channel));
    if (options.isLocal) {
      memory = new Memory(options.accounts, options.tokensMax);
      follower = new Follower(connection, channel, address, memory, options.report);
      follower.start();
      // It has no reference to the client.
      CLEANER.register(this, follower::stop);
    } else {
      memory = null;
      follower = null;
    }
  }

  /**
   * {@return a client of the sidecar at PORTCULLIS_GRPC_ADDRESS, or at {@link #DEFAULT_ADDRESS}}
   */
  public static Client connect() {
    return builder().connect();
  }

  /**
   * A client of a sidecar on this machine.
   *
   * @param address HOST:PORT or unix:PATH
   * @return the client
   */
  public static Client connect(String address) {
    return builder().address(address).connect();
  }

  /** {@return a client with options} Without any they are for a sidecar on this machine. */
  public static Builder builder() {
    return new Builder();
  }

  /** Options of a client. */
  public static final class Builder {
    private String address = "";
    private Duration deadline = Duration.ofSeconds(5);
    private Path callerTokenFile;
    private String callerToken = "";
    private String iamToken = "";
    private ChannelCredentials tls;
    private boolean isPlaintextAllowed;
    private boolean isLocal;
    private List<String> accounts = List.of();
    private int tokensMax = 10_000;
    private Consumer<? super Exception> report =
        error -> Log.warn("each check is asked: " + error.getMessage());

    /** For tests: the counter of the calls. */
    Function<Channel, Channel> intercepted = Function.identity();

    private Builder() {}

    /**
     * Where the sidecar is. Default: where PORTCULLIS_GRPC_ADDRESS says, or {@link
     * #DEFAULT_ADDRESS}.
     *
     * @param address HOST:PORT or unix:PATH (on Linux)
     * @return this builder
     */
    public Builder address(String address) {
      this.address = requireNonNull(address, "address");
      return this;
    }

    /**
     * How long a call may take.
     *
     * @param deadline default: 5 seconds; streams have none
     * @return this builder
     */
    public Builder deadline(Duration deadline) {
      this.deadline = requireNonNull(deadline, "deadline");
      return this;
    }

    /**
     * A file with the secret that identifies the program: needed to issue by profile, to revoke
     * tokens of others, and in local mode. The file is read again while the client is used, so a
     * new secret needs no restart.
     *
     * @param file with the caller token
     * @return this builder
     */
    public Builder callerTokenFile(Path file) {
      this.callerTokenFile = requireNonNull(file, "callerTokenFile");
      return this;
    }

    /**
     * The secret that identifies the program.
     *
     * @param token the caller token
     * @return this builder
     */
    public Builder callerToken(String token) {
      this.callerToken = requireNonNull(token, "callerToken");
      return this;
    }

    /**
     * The token of an account administrator, for administration.
     *
     * @param token a secret
     * @return this builder
     */
    public Builder iamToken(String token) {
      this.iamToken = requireNonNull(token, "iamToken");
      return this;
    }

    /**
     * Encrypts the connection to a sidecar on another machine. Without it, it is in plaintext.
     *
     * @param tls for example {@code TlsChannelCredentials.newBuilder().trustManager(new
     *     File("ca.pem")).build()}
     * @return this builder
     */
    public Builder tls(ChannelCredentials tls) {
      this.tls = requireNonNull(tls, "tls");
      return this;
    }

    /**
     * Sends secrets in plaintext to another machine. Only for a connection that something else
     * encrypts.
     *
     * @return this builder
     */
    public Builder allowPlaintext() {
      this.isPlaintextAllowed = true;
      return this;
    }

    /**
     * Decides in the memory of the program: the client follows what changes, and asks about each
     * token once. It needs the right "follow" of a caller. Until it follows, and where it cannot,
     * each check is asked.
     *
     * @return this builder
     */
    public Builder local() {
      this.isLocal = true;
      return this;
    }

    /**
     * Limits what the local mode follows.
     *
     * @param accounts their numbers; tokens of others are asked about each time
     * @return this builder
     */
    public Builder accounts(String... accounts) {
      this.accounts = List.of(accounts);
      return this;
    }

    /**
     * How much the local mode knows.
     *
     * @param max the most pairs of a token and a client address; default: 10,000
     * @return this builder
     */
    public Builder tokensMax(int max) {
      if (max < 1) {
        throw new IllegalArgumentException("tokensMax: expected at least 1");
      }
      this.tokensMax = max;
      return this;
    }

    /**
     * Learns why the client cannot follow what changes.
     *
     * @param report gets the cause; default: a line of the logger com.portcullis.client
     * @return this builder
     */
    public Builder onFailure(Consumer<? super Exception> report) {
      this.report = requireNonNull(report, "report");
      return this;
    }

    /**
     * Makes the client.
     *
     * @return the client
     * @throws IllegalArgumentException an option is not as expected
     * @throws IllegalStateException a secret would be sent to another machine in plaintext
     * @throws java.io.UncheckedIOException the file of the caller token cannot be read
     */
    public Client connect() {
      if (address.isEmpty()) {
        var named = System.getenv(ADDRESS_VARIABLE);
        address = named == null || named.isEmpty() ? DEFAULT_ADDRESS : named;
      }
      return new Client(this);
    }
  }

  /**
   * Ends the connection, and the streams of the client. A later call throws {@link
   * PortcullisException}.
   */
  @Override
  public void close() {
    if (follower != null) {
      follower.stop();
    }
    connection.shutdownNow();
  }

  /**
   * Decides whether a credential opens an API. In local mode the answer about a known token comes
   * from memory.
   *
   * @param question about the credential
   * @return the answer
   * @throws PortcullisException there is no answer, which is a denial
   */
  public Answer check(Question question) {
    var known = answerFromMemory(question);
    return known != null ? known : await(ask(question));
  }

  /**
   * Decides whether a credential opens an API. In local mode the answer about a known token comes
   * from memory, at once.
   *
   * @param question about the credential
   * @return the answer; it fails with {@link PortcullisException} where there is none
   */
  public CompletableFuture<Answer> checkAsync(Question question) {
    var known = answerFromMemory(question);
    return known != null ? CompletableFuture.completedFuture(known) : ask(question);
  }

  /**
   * Decides from memory alone. It never waits.
   *
   * @param question about the credential
   * @return empty: the sidecar must be asked
   */
  public Optional<Answer> checkLocally(Question question) {
    return Optional.ofNullable(answerFromMemory(question));
  }

  private Answer answerFromMemory(Question question) {
    return memory == null ? null : memory.answer(question, follower.now());
  }

  private CompletableFuture<Answer> ask(Question question) {
    var asked =
        memory == null
            ? askSidecar(question, ends()).thenApply(response -> new Answer(response, question))
            : askOnce(question);
    // Others may wait for the same answer, so a caller who leaves ends only a copy.
    return asked.copy();
  }

  /**
   * Asks the sidecar. Others who ask the same wait for the answer, and then look into the memory.
   */
  private CompletableFuture<Answer> askOnce(Question question) {
    var ends = ends();
    var asked = memory.asked(question, follower.now());
    if (asked.value() == null || !asked.isFollowed()) {
      return askAndLearn(question, asked, ends);
    }
    // No token has a line break.
    var key = asked.value() + "\n" + question.clientAddress();
    var mine = new CompletableFuture<Void>();
    var first = asking.putIfAbsent(key, mine);
    if (first != null) {
      return first
          .copy()
          .orTimeout(ends.timeRemaining(TimeUnit.NANOSECONDS), TimeUnit.NANOSECONDS)
          .handle((done, late) -> late)
          .thenCompose(
              late ->
                  late == null
                      ? askUnlessKnown(question, ends)
                      : CompletableFuture.failedFuture(
                          failed(Status.DEADLINE_EXCEEDED.asRuntimeException())));
    }
    try {
      return askUnlessKnown(question, ends)
          .whenComplete(
              (answer, error) -> {
                asking.remove(key, mine);
                mine.complete(null);
              });
    } catch (RuntimeException error) {
      asking.remove(key, mine);
      mine.complete(null);
      throw error;
    }
  }

  /** Another one may have had its answer just now. */
  private CompletableFuture<Answer> askUnlessKnown(Question question, Deadline ends) {
    var known = answerFromMemory(question);
    return known != null
        ? CompletableFuture.completedFuture(known)
        : askAndLearn(question, memory.asked(question, follower.now()), ends);
  }

  private CompletableFuture<Answer> askAndLearn(
      Question question, Memory.Asked asked, Deadline ends) {
    return askSidecar(question, ends)
        .thenApply(
            response -> {
              memory.learn(question, asked, response);
              // The memory forgets it when a change touches it, and a cache would not.
              return new Answer(
                  response.hasPosition() ? response.toBuilder().clearCacheFor().build() : response,
                  question);
            });
  }

  private CompletableFuture<CheckResponse> askSidecar(Question question, Deadline ends) {
    if (isExposed && question.claims() == null) {
      throw exposed();
    }
    return call(stub -> stub.check(question.message()), ends)
        .thenApply(
            response -> {
              expectTimes(response);
              return response;
            });
  }

  /** Checks for a guard: with the answer to an equal question, where it may be reused. */
  Answer checkCached(Question question) {
    if (memory != null) {
      return checkNow(question);
    }
    var key = AnswerCache.keyOf(question.message());
    // The time counts from the question on: how old an answer is when it arrives is not known.
    var asked = Elapsed.CLOCK.now();
    var known = cache.find(key, asked);
    if (known != null) {
      return known;
    }
    var answer = checkNow(question);
    if (!answer.cacheFor().isZero()) {
      cache.keep(key, answer, asked + answer.cacheFor().toNanos());
    }
    return answer;
  }

  /** An answer that comes now ends an outage. */
  private Answer checkNow(Question question) {
    var answer = check(question);
    reports.answered();
    return answer;
  }

  /** The APIs in the matrix of the sidecar. */
  private CompletableFuture<List<String>> apisOfMatrix() {
    return apisFrom("", new ArrayList<>());
  }

  /** Adds those of the page with that token and of all that follow it. */
  private CompletableFuture<List<String>> apisFrom(String pageToken, List<String> apis) {
    var request =
        GetMatrixRequest.newBuilder().setPageSize(PAGE_SIZE).setPageToken(pageToken).build();
    return call(stub -> stub.getMatrix(request))
        .thenCompose(
            response -> {
              response.getMatrix().getApisList().stream().map(Api::getId).forEach(apis::add);
              var next = response.getNextPageToken();
              return next.isEmpty()
                  ? CompletableFuture.completedFuture(apis)
                  : apisFrom(next, apis);
            });
  }

  Reports reports() {
    return reports;
  }

  private boolean isClosed() {
    return connection.isShutdown();
  }

  /**
   * Makes many checks in one round trip.
   *
   * @param questions about credentials
   * @return the answers, in the order of the questions
   * @throws PortcullisException there is no answer, which is a denial
   */
  public List<Answer> checkBatch(List<Question> questions) {
    if (isExposed && questions.stream().anyMatch(each -> each.claims() == null)) {
      throw exposed();
    }
    var request =
        CheckBatchRequest.newBuilder()
            .addAllChecks(questions.stream().map(Question::message).toList())
            .build();
    var results = await(call(stub -> stub.checkBatch(request))).getResultsList();
    // With another number, a question could get the answer to another one.
    if (results.size() != questions.size()) {
      throw new IllegalStateException(
          "expected " + questions.size() + " answers from the sidecar, found " + results.size());
    }
    return IntStream.range(0, results.size())
        .mapToObj(
            index -> {
              expectTimes(results.get(index));
              return new Answer(results.get(index), questions.get(index));
            })
        .toList();
  }

  /**
   * Issues a token for a scope, or for a set of APIs.
   *
   * @param request who asks, and for what
   * @return the token, which is a secret, and the header to send it in
   * @throws PortcullisException there is no token
   */
  public IssueResponse issue(IssueRequest request) {
    return await(issueAsync(request));
  }

  /**
   * Issues a token for a scope, or for a set of APIs.
   *
   * @param request who asks, and for what
   * @return the token, which is a secret, and the header to send it in; it fails with {@link
   *     PortcullisException}
   */
  public CompletableFuture<IssueResponse> issueAsync(IssueRequest request) {
    // The answer is a secret, too.
    if (isExposed) {
      throw exposed();
    }
    return call(stub -> stub.issue(request))
        .thenApply(
            response -> {
              expectTime(response.hasIssuedAt(), response.getIssuedAt());
              expectTime(response.hasExpiresAt(), response.getExpiresAt());
              return response;
            });
  }

  /**
   * Revokes a token by its value, or by its id.
   *
   * @param request names the token
   * @return when it was first revoked
   * @throws PortcullisException it may not be known whether the token is revoked
   */
  public RevokeResponse revoke(RevokeRequest request) {
    if (isExposed && request.hasValue()) {
      throw exposed();
    }
    return await(call(stub -> stub.revoke(request)));
  }

  /**
   * Finds the smallest set of tokens that opens all of the APIs.
   *
   * @param apis their ids
   * @return the tokens
   * @throws PortcullisException there is no answer
   */
  public PlanResponse plan(String... apis) {
    var request = PlanRequest.newBuilder().addAllApis(List.of(apis)).build();
    return await(call(stub -> stub.plan(request)));
  }

  /**
   * Follows the changes that make answers void. {@link Builder#local()} does that for a program.
   *
   * @param request from where on
   * @param observer gets each response
   * @return ends the stream when it is closed
   */
  public AutoCloseable watchChanges(
      WatchChangesRequest request, StreamObserver<WatchChangesResponse> observer) {
    var context = Context.current().withCancellation();
    var following =
        AuthorizationServiceGrpc.newStub(channel)
            .withMaxInboundMessageSize(Follower.RULES_BYTES_MAX);
    context.run(() -> following.watchChanges(request, observer));
    return context;
  }

  /**
   * For the stubs of com.portcullis.v1: every other call of the contract, such as those of its
   * DirectoryService. Unlike the methods of the client, they do not refuse to send secrets in
   * plaintext.
   *
   * @return the connection, with what the program presents
   */
  public Channel channel() {
    return channel;
  }

  private static void expectTimes(CheckResponse response) {
    var token = response.getToken();
    expectTime(token.hasIssuedAt(), token.getIssuedAt());
    expectTime(token.hasExpiresAt(), token.getExpiresAt());
  }

  private static void expectTime(boolean isThere, Timestamp time) {
    var isTime =
        time.getSeconds() >= SECONDS_MIN
            && time.getSeconds() <= SECONDS_MAX
            && time.getNanos() >= 0
            && time.getNanos() < NANOSECONDS_PER_SECOND;
    if (isThere && !isTime) {
      throw new PortcullisException(
          Status.Code.INTERNAL, "", "the sidecar sent an answer that cannot be: expected a time");
    }
  }

  /** When a call that begins now must have its answer. */
  private Deadline ends() {
    return Deadline.after(deadline.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Makes a call that has the deadline of the client. */
  private <T> CompletableFuture<T> call(
      Function<AuthorizationServiceFutureStub, ListenableFuture<T>> method) {
    return call(method, ends());
  }

  private <T> CompletableFuture<T> call(
      Function<AuthorizationServiceFutureStub, ListenableFuture<T>> method, Deadline ends) {
    var result = new CompletableFuture<T>();
    var running = method.apply(stub.withDeadline(ends));
    running.addListener(
        () -> {
          try {
            result.complete(running.get());
          } catch (ExecutionException error) {
            result.completeExceptionally(failed(error.getCause()));
          } catch (InterruptedException | RuntimeException error) {
            result.completeExceptionally(failed(error));
          }
        },
        MoreExecutors.directExecutor());
    return result;
  }

  private PortcullisException failed(Throwable error) {
    return PortcullisException.of(error, address);
  }

  /**
   * Tries to connect again soon after a failure. gRPC for Java alone waits for up to two minutes.
   * It has no reference to the client.
   */
  private static void reconnect(ManagedChannel connection) {
    var state = connection.getState(false);
    if (state == ConnectivityState.TRANSIENT_FAILURE) {
      // The state stays the same until an attempt succeeds.
      CompletableFuture.delayedExecutor(RECONNECT_MS, TimeUnit.MILLISECONDS)
          .execute(
              () -> {
                connection.resetConnectBackoff();
                reconnect(connection);
              });
    } else if (state != ConnectivityState.SHUTDOWN) {
      connection.notifyWhenStateChanged(state, () -> reconnect(connection));
    }
  }

  /** Waits for what a call returns. */
  static <T> T await(Future<T> running) {
    try {
      return running.get();
    } catch (InterruptedException error) {
      running.cancel(true);
      Thread.currentThread().interrupt();
      throw new PortcullisException(Status.Code.CANCELLED, "", "the thread was interrupted");
    } catch (ExecutionException error) {
      if (error.getCause() instanceof PortcullisException failed) {
        // With the place of the caller in its trace.
        failed.addSuppressed(new Exception("called here"));
        throw failed;
      }
      if (error.getCause() instanceof RuntimeException failed) {
        throw failed;
      }
      throw new IllegalStateException(error.getCause());
    }
  }

  private IllegalStateException exposed() {
    return new IllegalStateException(
        address
            + ": the sidecar is on another machine, and a secret would be sent to it in plaintext: set tls, or allowPlaintext if something"
            + " else encrypts the connection");
  }

  /** For tests. Null: each check is asked. */
  Memory memory() {
    return memory;
  }

  /** For tests. */
  boolean isFollowing() {
    return memory.isFollowing(follower.now());
  }
}
