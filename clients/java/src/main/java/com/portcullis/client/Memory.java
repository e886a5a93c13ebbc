package com.portcullis.client;

import com.google.protobuf.Duration;
import com.portcullis.v1.CheckResponse;
import com.portcullis.v1.Position;
import com.portcullis.v1.VerifiedToken;
import com.portcullis.v1.Voided;
import com.portcullis.v1.WatchChangesRequest;
import com.portcullis.v1.WatchChangesResponse;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/**
 * The knowledge of a client in local mode: the rules, the tokens, and until when it may answer from
 * them. It has no clock and calls nothing; clients/conformance describes step by step what it must
 * do. Times are in nanoseconds on the clock of {@link Elapsed}.
 */
final class Memory {
  private static final int WORDS_MAX = 10_000;

  /** Most parts of rules. A sidecar sends some twenty for 100,000 APIs. */
  private static final int PARTS_MAX = 1_000;

  private static final long NANOSECONDS_PER_SECOND = 1_000_000_000;
  private static final long NANOSECONDS_PER_MILLISECOND = 1_000_000;
  private static final View NOTHING = new View(null, Long.MIN_VALUE, 0, false);

  /** Of which it hears. Empty: of all. */
  private final List<String> accounts;

  final TokenTable tokens;
  private final ConcurrentHashMap<WordsKey, Answer.Said> words = new ConcurrentHashMap<>();
  private volatile View view = NOTHING;

  /**
   * Counts how often the answers to what was asked before became void. These and the following need
   * the lock of this object, as changes of the above do.
   */
  private int generation;

  /** Null: there is none. */
  /** The first generation with these rules. */
  private int rulesGeneration;

  private Position position;

  /**
   * The largest one that was received, or on which a denial of a token rests. Answers before it are
   * not remembered. Null: there is none.
   */
  private Position rememberedFrom;

  private Stream stream;

  /**
   * The state that one look-up needs, at one moment.
   *
   * @param rules null: there are none
   * @param dayBegan the time of day of the sidecar at time 0, in nanoseconds since 1970
   */
  private record View(Rules rules, long until, long dayBegan, boolean isDayKnown) {}

  /** It can be compared, so that a map finds it soon among many that were made to have one hash. */
  private record WordsKey(String api, String kind, Reason reason) implements Comparable<WordsKey> {
    @Override
    public int compareTo(WordsKey other) {
      var order = api.compareTo(other.api);
      if (order == 0) {
        order = kind.compareTo(other.kind);
      }
      return order == 0 ? reason.compareTo(other.reason) : order;
    }
  }

  /** The stream that is read. */
  private static final class Stream {
    final long asked;

    /** By how much the wall clock had jumped then. */
    final long jumped;

    boolean isFirst = true;
    long firstSent;
    long lastSent;

    /** Of rules that are on their way: those that came, and how many parts they are. */
    com.portcullis.v1.Rules.Builder coming = com.portcullis.v1.Rules.newBuilder();

    int parts;

    Stream(long asked, long jumped) {
      this.asked = asked;
      this.jumped = jumped;
    }
  }

  /** The sidecar says of its changes what cannot be. */
  static final class Impossible extends Exception {
    private static final long serialVersionUID = 1;

    Impossible(Throwable cause) {
      super("the sidecar says of its changes what cannot be", cause);
    }
  }

  /**
   * The knowledge of the memory about a question that it cannot answer.
   *
   * @param kind of the token, if it is known; else empty
   * @param place of the token: its header, the scheme before it and the part of Basic
   * @param value null: there is no token to learn
   * @param route what the routes that are known say of the request; null: nothing
   * @param isFollowed whether the answer will probably be remembered, so that others may wait for
   *     it
   */
  record Asked(
      int generation, String kind, String place, String value, Route route, boolean isFollowed) {}

  Memory(List<String> accounts, int tokensMax) {
    this.accounts = accounts;
    this.tokens = new TokenTable(tokensMax);
  }

  /** Whether it may answer. */
  boolean isFollowing(long now) {
    return now < view.until;
  }

  /** For tests. Null: there are none. */
  Rules rules() {
    return view.rules;
  }

  /**
   * Answers a question, if it can. Nothing here may wait.
   *
   * @return null: the sidecar must be asked
   */
  Answer answer(Question question, long now) {
    var view = this.view;
    if (view.rules == null || now >= view.until) {
      return null;
    }
    if (question.request() == null) {
      return answer(view, question, question.api(), question.target(), null, now);
    }
    var route = routeOf(view, question);
    return route == null || question.claims() != null
        ? null
        : answer(view, question, route.api(), route.target(), route, now);
  }

  /** Null: the sidecar must be asked about the request. */
  private static Route routeOf(View view, Question question) {
    var routes = view.rules.routes;
    return routes == null || question.headers() == null
        ? null
        : routes.find(question.request(), question.headers());
  }

  /**
   * Answers about an API and a target.
   *
   * @param route that said them; null: the question did
   */
  private Answer answer(
      View view, Question question, String api, Scope target, Route route, long now) {
    var row = view.rules.row(api);
    if (question.claims() != null) {
      return ofClaims(row, question);
    }
    var credentials = new Credentials(view.rules.headers, question.headers());
    if (credentials.isOne()) {
      var known = tokens.find(credentials.token);
      if (known != null) {
        return isCertain(view, known, credentials.place, question, now)
            ? ofToken(row, known, question, api, target, route)
            : null;
      }
    }
    var fault = credentials.fault();
    if (fault == null) {
      return null;
    }
    var reason = row.reason(0, Rules.situationOfFault(fault));
    if (reason == Reason.ALLOWED) {
      return new Answer(true, reason, Answer.Said.needless(api), row, 0, null, false, route);
    }
    return denial(api, "", reason, row, 0, null, false, route);
  }

  private Answer ofClaims(Rules.Row row, Question question) {
    var claims = question.claims();
    var column = row.rules().column(claims.kind());
    var reason =
        row.reason(
            column,
            Rules.situationOf(
                claims.scope().account(), claims.scope().project(), question.target()));
    if (reason == Reason.ALLOWED && column > 0) {
      return new Answer(true, reason, null, row, column, null, false, null);
    }
    return denial(question.api(), claims.kind(), reason, row, column, null, false, null);
  }

  /** Whether memory knows enough of a token. */
  private static boolean isCertain(
      View view, Entry known, String place, Question question, long now) {
    if (!known.like.place().equals(place)) {
      return false;
    }
    if (known.expiresAt != Long.MAX_VALUE
        && (!view.isDayKnown
            || known.expiresAt
                <= Math.floorDiv(view.dayBegan + now, NANOSECONDS_PER_MILLISECOND))) {
      return false;
    }
    return known.isKnownAt(question.clientAddress());
  }

  private Answer ofToken(
      Rules.Row row, Entry known, Question question, String api, Scope target, Route route) {
    if (!known.isUsed) {
      known.isUsed = true;
    }
    var like = known.like;
    var fault = known.faultAt(question.clientAddress());
    var situation =
        fault == null
            ? Rules.situationOf(like.account(), like.project(), target)
            : Rules.situationOfFault(fault);
    var column = row.rules().column(like.kind());
    var reason = row.reason(column, situation);
    if (reason == Reason.ALLOWED && column > 0 && fault == null) {
      return new Answer(true, reason, null, row, column, known, true, route);
    }
    return denial(api, like.kind(), reason, row, column, known, fault == null, route);
  }

  /** A denial in the words of the sidecar; null: they are not known. */
  private Answer denial(
      String api,
      String kind,
      Reason reason,
      Rules.Row row,
      int column,
      Entry known,
      boolean isVerified,
      Route route) {
    var said = words.get(new WordsKey(api, kind, reason));
    return said == null
        ? null
        : new Answer(false, reason, said, row, column, known, isVerified, route);
  }

  /** The facts to learn from a question that the sidecar is asked now. */
  Asked asked(Question question, long now) {
    int generation;
    synchronized (this) {
      generation = this.generation;
    }
    // Only now: where rules come in between, the token is looked for again.
    var view = this.view;
    if (question.claims() != null) {
      return new Asked(generation, question.claims().kind(), "", null, null, false);
    }
    if (view.rules == null) {
      return new Asked(generation, "", "", null, null, false);
    }
    var found = found(generation, "", view, question, now);
    if (found.value == null) {
      return found;
    }
    // The words alone may be missing.
    var known = tokens.find(found.value);
    var isCertain =
        known != null && now < view.until && isCertain(view, known, found.place, question, now);
    return isCertain
        ? new Asked(
            generation, known.like.kind(), found.place, found.value, found.route, found.isFollowed)
        : found;
  }

  /** The token and the route of a question, as far as the rules find them. */
  private static Asked found(int generation, String kind, View view, Question question, long now) {
    var route = question.request() == null ? null : routeOf(view, question);
    var credentials = new Credentials(view.rules.headers, question.headers());
    if (credentials.fault() != null) {
      return new Asked(generation, kind, "", null, route, false);
    }
    // About a request that is not plain the sidecar is asked each time.
    var isPlain = question.request() == null || route != null;
    return new Asked(
        generation, kind, credentials.place, credentials.token, route, now < view.until && isPlain);
  }

  /**
   * Takes the answer of the sidecar to a question into the memory, as far as it may be remembered.
   */
  synchronized void learn(Question question, Asked before, CheckResponse response) {
    var rules = view.rules;
    if (rules == null) {
      return;
    }
    // By other rules, or by none, another token may have been found.
    var asked =
        before.generation < rulesGeneration && question.claims() == null
            ? found(before.generation, before.kind, view, question, Long.MAX_VALUE)
            : before;
    var reason = Reason.of(response.getReasonValue());
    var route = question.request() == null ? null : Route.of(response.getRoute());
    var api = route == null ? question.api() : route.api();
    var target = route == null ? question.target() : route.target();
    var isFit =
        (route == null || route.isFoundAs(asked.route))
            && rules.wouldGive(
                api, target, question.claims(), asked.place(), asked.value(), response);
    if (isFit && reason != Reason.ALLOWED) {
      var kind = response.hasToken() ? response.getToken().getKind() : asked.kind;
      if (words.size() >= WORDS_MAX) {
        words.clear();
      }
      words.put(new WordsKey(api, kind, reason), Answer.Said.wordsOf(response));
    }
    if (asked.value == null) {
      return;
    }
    var isRemembered = isFit && mayRemember(asked, response, reason);
    var fault = Rules.situationOfFault(reason) < 0 ? null : reason;
    var isVoid =
        isFit
            ? fault != null && isAgainst(fault, asked, isRemembered)
            : route == null || asked.route != null || !isRefusal(response, reason);
    if (isVoid) {
      // Once one caller has seen the denial, no caller may get an older allow.
      tokens.remove(asked.value);
      if (!isFit) {
        // An answer that is on its way may be older.
        generation++;
      }
    }
    if (!isRemembered) {
      return;
    }
    if (reason == Reason.CREDENTIAL_EXPIRED || reason == Reason.CREDENTIAL_REVOKED) {
      rememberedFrom = response.getPosition();
    }
    keep(asked, response.getToken(), new Entry.AddressFault(question.clientAddress(), fault));
  }

  /** Whether a fault makes void what is known of the token. */
  private boolean isAgainst(Reason fault, Asked asked, boolean isRemembered) {
    return switch (fault) {
      case ADDRESS_NOT_ALLOWED -> !isRemembered;
      case WRONG_HEADER -> {
        var known = tokens.find(asked.value);
        yield known != null && known.like.place().equals(asked.place);
      }
      default -> true;
    };
  }

  /** Whether the token of an answer that the rules would have given may be remembered. */
  private boolean mayRemember(Asked asked, CheckResponse response, Reason reason) {
    var isLasting =
        switch (reason) {
          case CREDENTIAL_EXPIRED, CREDENTIAL_REVOKED, ADDRESS_NOT_ALLOWED -> true;
          default -> response.getVerified();
        };
    if (!isLasting
        || !response.hasToken()
        || !response.hasPosition()
        || rememberedFrom == null
        || asked.generation != generation
        || isBefore(response.getPosition(), rememberedFrom)) {
      return false;
    }
    // Of a process that has not read yet which keys are withdrawn, it would stay.
    if (!response.getPosition().getBasis().equals(position.getBasis())) {
      return false;
    }
    return accounts.isEmpty() || accounts.contains(response.getToken().getScope().getAccount());
  }

  /** Whether the routes refuse a request, and nothing is said of the token. */
  private static boolean isRefusal(CheckResponse response, Reason reason) {
    return response.getRoute().getApi().isEmpty()
        && !response.getAllowed()
        && reason == Reason.UNKNOWN_API
        && !response.getVerified()
        && !response.hasToken();
  }

  private void keep(Asked asked, VerifiedToken token, Entry.AddressFault first) {
    var scope = token.getScope();
    var like =
        new Entry.Likeness(
            token.getKind().intern(),
            asked.place.intern(),
            scope.getAccount(),
            scope.getProject(),
            token.getSubject().getType());
    var addressesMax = Math.min(Entry.ADDRESSES_MAX, tokens.pairsMax());
    var added =
        Entry.of(
            asked.value, tokens.shared(like), token, first, tokens.find(asked.value), addressesMax);
    if (added != null) {
      tokens.put(added);
    }
  }

  /** Begins a stream at a moment. Known facts count for as long as before. */
  synchronized WatchChangesRequest begin(long now, long jumped) {
    stream = new Stream(now, jumped);
    var request = WatchChangesRequest.newBuilder().addAllAccounts(accounts);
    if (position != null) {
      request.setAfter(position);
    }
    return request.build();
  }

  /**
   * Takes a response of the stream into the memory.
   *
   * @return whether the stream can go on; otherwise another one must be begun, because the clocks
   *     have parted
   * @throws Impossible the stream must be left: everything is void
   * @throws Rules.Incomplete the same
   */
  synchronized boolean hear(WatchChangesResponse response, long now, long jumped)
      throws Impossible, Rules.Incomplete {
    try {
      follow(response, now);
      return jumped - stream.jumped <= Elapsed.JUMP_MAX;
    } catch (ArithmeticException | IllegalArgumentException error) {
      forget();
      throw new Impossible(error);
    } catch (Impossible | Rules.Incomplete error) {
      forget();
      throw error;
    }
  }

  private void follow(WatchChangesResponse response, long now) throws Impossible, Rules.Incomplete {
    if (response.hasRulesPart() && stream.parts < PARTS_MAX) {
      stream.parts++;
      stream.coming.mergeFrom(response.getRulesPart());
      return;
    }
    expectPossible(response);
    var heard = stream.isFirst ? response.getSentAt() : null;
    var rules = view.rules;
    if (response.hasRules()) {
      rules = new Rules(stream.coming.mergeFrom(response.getRules()).build());
      stream.coming = com.portcullis.v1.Rules.newBuilder();
      stream.parts = 0;
    }
    take(response, rules, heard, now);
  }

  private void take(WatchChangesResponse response, Rules rules, Duration heard, long now) {
    var next = viewOf(rules, response, now);
    if (response.getVoided().getEverything()) {
      forgetTokens();
    } else if (response.hasVoided()) {
      tokens.removeIf(voids(response.getVoided()));
    }
    if (response.hasRules()) {
      if (view.rules == null || !view.rules.digest.equals(rules.digest)) {
        generation++;
        rulesGeneration = generation;
      }
      words.clear();
      tokens.removeIf(each -> !rules.carries(each.like.kind(), each.like.place(), each.value));
    }
    position = response.getPosition();
    if (rememberedFrom == null || position.getChange() >= rememberedFrom.getChange()) {
      rememberedFrom = position;
    }
    if (heard != null) {
      stream.isFirst = false;
      stream.firstSent = nanosecondsOf(heard);
    }
    stream.lastSent = nanosecondsOf(response.getSentAt());
    // Only now may more be answered.
    view = next;
  }

  /** Checks that a response can follow what was heard before. */
  private void expectPossible(WatchChangesResponse response) throws Impossible {
    if (!response.hasPosition() || !response.hasSentAt()) {
      throw new Impossible(null);
    }
    var sent = nanosecondsOf(response.getSentAt());
    var isBack = position != null && isBefore(response.getPosition(), position);
    var isOtherBasis =
        position != null
            && stream.isFirst
            && !position.getBasis().equals(response.getPosition().getBasis());
    if (sent < 0
        || nanosecondsOf(response.getValidFor()) < 0
        || (isBack || isOtherBasis) && !response.getVoided().getEverything()
        || !stream.isFirst && sent < stream.lastSent) {
      throw new Impossible(null);
    }
  }

  /** Says until when a response counts. */
  private View viewOf(Rules rules, WatchChangesResponse response, long now) {
    var sentAt = nanosecondsOf(response.getSentAt());
    var firstSent = stream.isFirst ? sentAt : stream.firstSent;
    // It was sent then or later, if both clocks run alike; and not after it has arrived.
    var sent = stream.asked + Math.min(sentAt - firstSent, now - stream.asked);
    var until = view.until;
    if (response.hasValidFor()) {
      var validFor = nanosecondsOf(response.getValidFor());
      until = validFor < Long.MAX_VALUE - Math.max(0, sent) ? sent + validFor : Long.MAX_VALUE;
    }
    if (!response.hasTimeOfDay()) {
      return new View(rules, until, 0, false);
    }
    var day = response.getTimeOfDay();
    var since1970 =
        Math.addExact(Math.multiplyExact(day.getSeconds(), NANOSECONDS_PER_SECOND), day.getNanos());
    return new View(rules, until, since1970 - sent, true);
  }

  /** Forgets everything. The next stream begins anew. */
  private void forget() {
    view = NOTHING;
    forgetTokens();
    position = null;
  }

  private void forgetTokens() {
    generation++;
    tokens.clear();
    rememberedFrom = null;
  }

  /** Whether a token is among what is void. */
  private static Predicate<Entry> voids(Voided voided) {
    var ids = new HashSet<>(voided.getTokenIdsList());
    var holders = new HashSet<>(voided.getUserIdsList());
    var accounts = new HashSet<>(voided.getAccountsList());
    var projects = new HashSet<>(voided.getProjectIdsList());
    return each ->
        ids.contains(each.id())
            || holders.contains(each.holderId())
            || accounts.contains(each.like.account())
            || !each.projectId().isEmpty() && projects.contains(each.projectId())
            || each.derivedFrom().stream().anyMatch(ids::contains);
  }

  private static boolean isBefore(Position some, Position other) {
    return some.getChange() < other.getChange()
        || some.getChange() == other.getChange()
            && !some.getRecordedAt().equals(other.getRecordedAt());
  }

  private static long nanosecondsOf(Duration message) {
    var seconds = message.getSeconds();
    if (Math.abs(seconds) >= Long.MAX_VALUE / NANOSECONDS_PER_SECOND) {
      return seconds < 0 ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
    return seconds * NANOSECONDS_PER_SECOND + message.getNanos();
  }
}
