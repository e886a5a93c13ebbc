/*
 * A sidecar without a directory, and two hubs that read one: streams that are late, doubled and lost, answers
 * that are late, hubs that do not know of a change yet, a hub that takes the place of another, one that has
 * lost what the follower was told, a follower that is restarted.
 *
 * A hub reads at one moment and knows for the bound, as the fleets of test/simulation show.
 */
#include "directory.pml"

/* Messages that are on their way, and questions, at most. */
#ifndef MESSAGES
#define MESSAGES 1
#endif
#ifndef QUESTIONS
#define QUESTIONS 1
#endif
/*
 * Whether a question may reach any process that is behind the address of the hub, as behind a load balancer,
 * or another worker after the connection was lost; otherwise it reaches the hub of the stream.
 */
#ifndef ANYWHERE
#define ANYWHERE 0
#endif
/* How long a token that is not genuine is not asked about again. */
#ifndef UNKNOWN
#define UNKNOWN 1
#endif

/* Faults that are put in on purpose. */
#define LATE_ANSWER_COUNTS 1       /* an answer is remembered as of its arrival */
#define VALID_FROM_ARRIVAL 2       /* a response that is late prolongs */
#define LOSS_UNNOTICED 3           /* nobody looks whether a hub has what the follower was told */
#define RESTORATION_MISSED 4       /* a hub looks at numbers alone when it reads */
#define UNTOLD_COUNTS 5            /* an answer is remembered whatever its position is */
#define OLDER_COUNTS 6             /* an answer is remembered at any position that was told */
#define SHARED_COUNTS 7            /* all who wait for an answer take it, whatever its position is */
#define WITHDRAWAL_UNSAID 8        /* a hub does not say that a key was withdrawn */
#define MEMORY_OUTLIVES_WORD 9     /* what is remembered counts without word */
#define EVERYTHING_UNHEARD 10      /* what is remembered stays when everything is void */
#define EARLIER_STREAM_HEARD 11    /* a response of an earlier stream counts as one of the new stream */
#define PROMISE_UNBOUND 12         /* a hub promises the whole bound, whenever it has read */
#define CLOCK_BACKWARDS 13         /* a response is heard that was sent before one that was heard */
#define OTHER_KEYS_COUNT 14        /* an answer is remembered whatever keys it rests on */
#define RESTART_FORGETS 15         /* a restart forgets what the follower was told */
#define LOST_ANSWERS 16            /* a hub answers that does not have what the follower was told */

#define HUBS 2

typedef Hub {
  /* What it has read, where its list of records begins, and for how long it knows that this is all. */
  ID position;
  ID from;
  AGE knownFor;
  byte keys
}
Hub hub[HUBS];

/* The stream that is read. */
#define NO_STREAM 0
#define ASKED 1
#define OPEN 2
typedef Stream {
  byte phase;
  byte hub;
  /* The last record that was told of; `NONE`: everything is to be told. */
  ID place;
  /* The time from the request to the first response. */
  AGE gap;
  bit isHeard
}
Stream stream;

/* A response that is on its way. */
typedef Message {
  bit isUsed;
  ID position;
  bit isEverything;
  bit touchesToken;
  /* What is left of the time that it promises, counted from the request for the stream. */
  AGE validFor;
  byte basis
}
Message message[MESSAGES];

/* A question about the token. */
#define FREE 0
#define ASKING 1
#define ANSWERED 2
typedef Question {
  byte phase;
  byte hub;
  /* Whether anything was known when it was asked. */
  bit hasMoment;
  /* Since then the token was touched. */
  bit isStale;
  /* What the follower was told. */
  ID told;
  /* The position that was known when it was asked; later that of the answer, and whether that is older. */
  ID position;
  bit isOlder;
  /* The keys that the answer rests on. */
  byte basis;
  bit saysGenuine;
  bit saysActive;
  /* When its check began, the token or its key had ended for the bound, and that was not undone since. */
  bit isLate;
  bit isWithdrawn;
  /* Likewise of a check that waits for the same answer. */
  bit isLateForOthers;
  bit isWithdrawnForOthers
}
Question question[QUESTIONS];

/* The follower. */
#define NOTHING 0
#define ALLOW 1
#define DENY 2
byte remembered;
AGE unknownFor;
AGE knownFor;
ID position = NONE;
/* The highest record that it was told, as it is on its disk. */
ID kept = NONE;
byte basis;
bit told[RECORDS + 1];
/* The hub that is asked: the one whose stream was heard last; `HUBS`: none. */
byte line = HUBS;

hidden short i;
hidden byte at;
hidden byte isWrong;
hidden byte isBehind;
hidden ID y;
hidden byte areOnTheirWay;

#define isKnown (knownFor > 0 || has(MEMORY_OUTLIVES_WORD))
#define numberOf(id) (record[id].number)

/* The hubs. */

#define canRead(h) (hub[h].position != last || hub[h].knownFor < BOUND || hub[h].keys != keys)
#define isRead(h) (stream.phase == OPEN && stream.hub == h)
#define isSameNumber(h) (has(RESTORATION_MISSED) && numberOf(last) >= numberOf(hub[h].position))

/*
 * do: sidecar/directory/feed/followed-changes.ts take
 * do: sidecar/directory/feed/recent-records.ts startAgain
 * do: sidecar/contract/followers.ts #readBasis
 */
inline read(h) {
  /* A hub that has read what is lost reads no more. A process that never did takes its place. */
  findHas(hub[h].position);
  if
  :: !found && isRead(h) && !has(RESTORATION_MISSED) -> loseMessages(); noStream()
  :: else
  fi;
  findBefore(hub[h].position, last);
  if
  :: !found ->
    hub[h].from = last;
    if :: isRead(h) -> stream.place = (isSameNumber(h) -> last : NONE) :: else fi
  :: else
  fi;
  hub[h].position = last;
  hub[h].knownFor = BOUND;
  if
  :: (hub[h].keys & ~keys) != 0 && isRead(h) && !has(WITHDRAWAL_UNSAID) -> stream.place = NONE
  :: else
  fi;
  hub[h].keys = keys
}

inline write(m, h) {
  if
  :: hub[h].knownFor > 0 -> findTouched(stream.place, hub[h].position, hub[h].from)
  :: else -> findTouched(NONE, hub[h].position, hub[h].from)
  fi;
  message[m].isUsed = 1;
  message[m].position = hub[h].position;
  message[m].isEverything = isUnsaid;
  message[m].touchesToken = touchesToken && !isUnsaid;
  message[m].validFor = (has(PROMISE_UNBOUND) && hub[h].knownFor > 0 -> BOUND : hub[h].knownFor);
  if :: !has(VALID_FROM_ARRIVAL) -> runDown(message[m].validFor, stream.gap) :: else fi;
  message[m].basis = hub[h].keys;
  stream.place = (hub[h].knownFor > 0 -> hub[h].position : NONE)
}

#define canOpen(m) (stream.phase == ASKED && !message[m].isUsed)
#define isFollowed(id) (id == position)

/*
 * Whether a hub has a record: in its list, or in the directory, as far as it uses that.
 * do: sidecar/directory/feed/notified-changes.ts has
 */
inline findHasAt(h, id) {
  findHas(hub[h].position);
  if :: found -> findHas(id) :: else fi;
  y = hub[h].position;
  do
  :: !found ->
    found = (y == id);
    if :: y == hub[h].from || record[y].parent == y -> break :: else -> y = record[y].parent fi
  :: else -> break
  od
}

/*
 * A hub that does not have what the follower was told refuses the stream.
 * do: sidecar/contract/followers.ts expectToHave
 */
inline openOrRefuse(m) {
  at = stream.hub;
  findHasAt(at, kept);
  if
  :: found || has(LOSS_UNNOTICED) -> open(m)
  :: else -> noStream()
  fi
}

/*
 * do: sidecar/contract/followers.ts #begin
 * do: sidecar/directory/feed/recent-records.ts placeAfter
 */
inline open(m) {
  at = stream.hub;
  stream.phase = OPEN;
  stream.place = NONE;
  if
  :: position != NONE && basis == hub[at].keys ->
    x = hub[at].position;
    do
    :: x != hub[at].from && !isFollowed(x) -> x = record[x].parent
    :: else -> break
    od;
    if :: isFollowed(x) -> stream.place = x :: else fi
  :: else
  fi;
  write(m, at)
}

#define canTell(m) (stream.phase == OPEN && !message[m].isUsed && hub[stream.hub].knownFor > 0)

/* News, or a heartbeat. do: sidecar/contract/followers.ts #tellOne */
inline tell(m) {
  at = stream.hub;
  write(m, at)
}

/* The stream. */

/*
 * The stream before is over, and what it has not delivered is lost.
 * do: sidecar/authority/hub/hub-line.ts #read
 * do: sidecar/authority/hub/hub-changes.ts begin
 * do: sidecar/authority/hub/hub-messages.ts watchChangesRequest
 */
inline connect(h) {
  stream.phase = ASKED;
  stream.hub = h;
  stream.place = 0;
  stream.gap = 0;
  stream.isHeard = 0;
  if
  :: !has(EARLIER_STREAM_HEARD) -> loseMessages()
  :: else -> for (i : 0 .. MESSAGES - 1) { message[i].validFor = (message[i].validFor > 0 -> BOUND : 0) }
  fi
}

inline loseMessages() {
  for (i : 0 .. MESSAGES - 1) { clear(i) }
}

inline clear(m) {
  message[m].isUsed = 0;
  message[m].position = 0;
  message[m].isEverything = 0;
  message[m].touchesToken = 0;
  message[m].validFor = 0;
  message[m].basis = 0
}

/* do: sidecar/directory/feed/recent-changes.ts touchAll */
inline forgetAll() {
  if :: !has(EVERYTHING_UNHEARD) -> remembered = NOTHING :: else fi;
  for (i : 0 .. QUESTIONS - 1) { question[i].isStale = question[i].phase != FREE };
  for (i : 0 .. RECORDS) { told[i] = 0 }
}

/* do: sidecar/directory/feed/recent-changes.ts touch */
inline touch() {
  remembered = NOTHING;
  for (i : 0 .. QUESTIONS - 1) { question[i].isStale = question[i].phase != FREE }
}

inline noStream() {
  stream.phase = NO_STREAM;
  stream.hub = 0;
  stream.place = 0;
  stream.gap = 0;
  stream.isHeard = 0
}

/*
 * do: sidecar/authority/hub/hub-changes.ts #expectForward
 * @param isEarlier whether it was sent before one that was heard
 */
inline expectForward(m, isEarlier) {
  y = message[m].position;
  isBehind = (kept != NONE && !has(LOSS_UNNOTICED) &&
    (numberOf(y) < numberOf(kept) || (numberOf(y) == numberOf(kept) && y != kept)));
  if
  :: stream.isHeard -> isWrong = (isBehind || (isEarlier && !has(CLOCK_BACKWARDS)))
  :: !stream.isHeard && isBehind -> isWrong = 1
  :: else -> isWrong = (!message[m].isEverything && (position == NONE || message[m].basis != basis))
  fi
}

#define canHear(m) (message[m].isUsed && (stream.phase == OPEN || has(EARLIER_STREAM_HEARD)))

/* do: sidecar/authority/hub/hub-changes.ts hear */
inline hear(m, isEarlier) {
  expectForward(m, isEarlier);
  if
  :: isWrong && isBehind && !stream.isHeard -> loseMessages(); noStream()
  :: isWrong && !(isBehind && !stream.isHeard) -> distrust()
  :: else ->
    if
    :: message[m].isEverything -> forgetAll()
    :: !message[m].isEverything && message[m].touchesToken -> touch()
    :: else
    fi;
    position = message[m].position;
    keep(position);
    for (i : 0 .. made) { told[i] = told[i] && numberOf(i) != numberOf(position) };
    told[position] = 1;
    basis = message[m].basis;
    stream.isHeard = 1;
    knownFor = message[m].validFor;
    line = stream.hub
  fi
}

/* do: sidecar/directory/feed/known-position.ts note */
inline keep(id) {
  if :: kept == NONE -> kept = id :: else -> kept = (numberOf(id) > numberOf(kept) -> id : kept) fi;
  /* What is lost counts until an operator has accepted it. */
  findHas(knew);
  if :: found && (knew == NONE || numberOf(id) > numberOf(knew)) -> knew = id :: else fi;
  noteLost()
}

/*
 * The process ends, and another one begins with what is on the disk.
 * do: sidecar/process/open/open-hub.ts openHub
 */
inline restart() {
  if :: has(RESTART_FORGETS) -> kept = NONE :: else fi;
  knownFor = 0;
  unknownFor = 0;
  position = NONE;
  basis = 0;
  remembered = NOTHING;
  for (i : 0 .. RECORDS) { told[i] = 0 };
  for (i : 0 .. QUESTIONS - 1) { release(i) };
  loseMessages();
  noStream();
  line = HUBS
}

/*
 * do: sidecar/authority/hub/hub-changes.ts distrust
 * do: sidecar/authority/hub/hub-line.ts #distrust
 */
inline distrust() {
  knownFor = 0;
  position = NONE;
  forgetAll();
  loseMessages();
  noStream();
  line = HUBS
}

/* Questions. */

/* do: sidecar/authority/hub/hub-authority.ts #find */
#define answersFromMemory (isKnown && remembered != NOTHING)
#define answersUnknown (isKnown && !answersFromMemory && unknownFor > 0)
#define mustAsk (!answersFromMemory && !answersUnknown)

/* do: sidecar/authority/hub/hub-authority.ts #ask */
inline ask(q) {
  question[q].phase = ASKING;
  question[q].hub = (ANYWHERE -> 0 : line);
  question[q].hasMoment = isKnown;
  question[q].position = position;
  question[q].told = kept;
  question[q].isLate = isOver(endedFor);
  question[q].isWithdrawn = isOver(withdrawnFor)
}

/* Nothing was touched since it was asked, not even something else: in a search that is not looked at. */
#define canJoin(q) (question[q].phase != FREE && isKnown && question[q].hasMoment && !question[q].isStale)

/* do: sidecar/authority/hub/hub-authority.ts #shared */
inline join(q) {
  question[q].isLateForOthers = question[q].isLateForOthers || isOver(endedFor);
  question[q].isWithdrawnForOthers = question[q].isWithdrawnForOthers || isOver(withdrawnFor)
}

/* A hub answers from what it knows, or asks the directory. */
#define isAskedAt(q, h) (question[q].phase == ASKING && (ANYWHERE || question[q].hub == h))
#define canAnswerAtOnce(q, h) (isAskedAt(q, h) && hub[h].knownFor > 0)
#define canAnswerAsked(q, h) (isAskedAt(q, h) && (hub[h].knownFor > 0 || hub[h].keys == keys))

/*
 * A hub that does not have what the follower was told answers nothing, and one whose directory lacks what it
 * has read asks it nothing.
 * do: sidecar/contract/followers.ts expectToHave
 */
inline answerOrRefuse(q, h, isActive, isAsked) {
  findHas(hub[h].position);
  isWrong = (isAsked && !found);
  findHasAt(h, question[q].told);
  if
  :: !isWrong && (found || has(LOST_ANSWERS) || has(LOSS_UNNOTICED)) -> answer(q, h, isActive)
  :: else -> release(q)
  fi
}

/*
 * do: sidecar/authority/embedded.ts describe
 * do: sidecar/usecases/describe-tokens.ts describeTokens
 */
inline answer(q, h, isActive) {
  question[q].phase = ANSWERED;
  question[q].hub = 0;
  question[q].isOlder = question[q].position != NONE && numberOf(hub[h].position) < numberOf(question[q].position);
  question[q].position = hub[h].position;
  question[q].basis = hub[h].keys;
  question[q].saysGenuine = isGenuine(hub[h].keys);
  question[q].saysActive = isActive && isGenuine(hub[h].keys)
}

/*
 * The position must have been told, and be no older than what was known when it was asked; and the answer must
 * rest on the keys that were told last.
 * do: sidecar/authority/hub/hub-changes.ts wasTold
 */
#define isPositionRight(q) (has(UNTOLD_COUNTS) || \
  (told[question[q].position] && (!question[q].isOlder || has(OLDER_COUNTS))))
#define isBasisRight(q) (question[q].basis == basis || has(OTHER_KEYS_COUNT))
#define isRememberable(q) (question[q].hasMoment && isPositionRight(q) && isBasisRight(q) && \
  (!question[q].isStale || has(LATE_ANSWER_COUNTS)))

/* do: sidecar/authority/hub/hub-authority.ts #ask */
inline answered(q) {
  if
  :: question[q].saysGenuine && isRememberable(q) -> remembered = (question[q].saysActive -> ALLOW : DENY)
  :: !question[q].saysGenuine -> unknownFor = UNKNOWN
  :: else
  fi;
  release(q)
}

inline release(q) {
  question[q].phase = FREE;
  question[q].hub = 0;
  question[q].hasMoment = 0;
  question[q].isStale = 0;
  question[q].told = 0;
  question[q].position = 0;
  question[q].isOlder = 0;
  question[q].basis = 0;
  question[q].saysGenuine = 0;
  question[q].saysActive = 0;
  question[q].isLate = 0;
  question[q].isWithdrawn = 0;
  question[q].isLateForOthers = 0;
  question[q].isWithdrawnForOthers = 0
}

/* What is in force again makes an allow right, unless its end is lost. */
inline noteTruth() {
  for (i : 0 .. QUESTIONS - 1) {
    question[i].isLate = (question[i].isLate && (!isInForce || isEndLost));
    question[i].isLateForOthers = (question[i].isLateForOthers && (!isInForce || isEndLost));
    question[i].isWithdrawn = question[i].isWithdrawn && !isGenuine(keys);
    question[i].isWithdrawnForOthers = question[i].isWithdrawnForOthers && !isGenuine(keys)
  }
}

inline pass(ticks) {
  ageDirectory(ticks);
  for (i : 0 .. HUBS - 1) { runDown(hub[i].knownFor, ticks) };
  for (i : 0 .. MESSAGES - 1) {
    if :: !has(VALID_FROM_ARRIVAL) -> runDown(message[i].validFor, ticks) :: else fi
  };
  if :: stream.phase == ASKED -> grow(stream.gap, ticks) :: else fi;
  runDown(knownFor, ticks);
  runDown(unknownFor, ticks)
}

/* The follower has heard of everything that its hub has read, and the hub has read everything. */
#define isAtRest (stream.phase == OPEN && stream.isHeard && position == last && basis == keys && \
  hub[stream.hub].position == last && hub[stream.hub].keys == keys && stream.place == last && !areOnTheirWay)

inline findOnTheirWay() {
  areOnTheirWay = 0;
  for (i : 0 .. MESSAGES - 1) { areOnTheirWay = areOnTheirWay || message[i].isUsed }
}

/* Safety: nothing is allowed that has ended for the bound. At rest, what is said is what the directory says. */
inline sayRemembered() {
  assert(remembered != ALLOW || (!isOver(endedFor) && !isOver(withdrawnFor)));
  findOnTheirWay();
  assert(!isAtRest || (remembered == ALLOW) == (isInForce && isGenuine(keys)))
}

/* Others who waited take an answer that can be remembered. Otherwise they ask for themselves. */
inline sayAnswered(q) {
  assert(!question[q].saysActive || (!question[q].isLate && !question[q].isWithdrawn));
  assert(!question[q].saysActive || !(isRememberable(q) || has(SHARED_COUNTS)) ||
    (!question[q].isLateForOthers && !question[q].isWithdrawnForOthers))
}

inline begin() {
  record[0].inForce = 1;
  record[0].number = 1;
  highest = 1;
  for (i : 0 .. HUBS - 1) {
    hub[i].keys = keys;
    hub[i].knownFor = BOUND
  }
}

#ifdef TRACE
#include "follower-trace.pml"
#else
#include "follower-search.pml"
#endif
