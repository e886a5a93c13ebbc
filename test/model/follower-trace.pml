/*
 * Takes the steps that a simulated fleet took (test/model/fleet-trace.ts), from standard input: each must be
 * possible here, with the values that were seen. It says `accepted`, or at which step there is none.
 */

#define PASS 1
#define CHANGE 2
#define REPLACE 3
#define SET_KEYS 4
#define READ 5
#define CONNECT 6
#define WRITTEN 7
#define HEARD 8
#define SAID 9
#define SAW_ASKED 10
#define SAW_ASKED_AGAIN 11
#define SAW_JOINED 12
#define REACHED 13
#define SAW_ANSWERED 14
#define SAW_REFUSED 15
#define ACCEPT 16
#define RESTART 17

#define BASES 4

/* The step, and its values. */
int step;
int v[7];
int steps;
bit isRefused;
/* When responses were sent, on the clock of the hub; and the newest one that was heard. */
int sentAt[MESSAGES];
int newest;
/* Which keys a basis stands for; 255: it was not seen before. */
byte keysOf[BASES];

/* Clocks are rounded to microseconds in several places. */
#define isNear(a, b) (a - b <= 3 && b - a <= 3)
#define wasReached(q) (question[q].position == v[3] && \
  question[q].saysGenuine == v[4] && question[q].saysActive == v[5])

#define expect(condition) isRefused = (isRefused || !(condition))

inline take() {
  if
  :: step == PASS -> pass(v[0])
  :: step == CHANGE -> change(v[1], v[2]); noteTruth(); expect(last == v[0])
  :: step == REPLACE ->
    expect(v[1] <= numberOf(last));
    replace(v[1], v[2]);
    noteTruth();
    expect(last == v[0])
  :: step == ACCEPT ->
    expect(v[1] > highest);
    record[made + 1].accepts = 1;
    replace(v[1], v[2]);
    noteTruth();
    expect(last == v[0])
  :: step == RESTART -> restart()
  :: step == SET_KEYS -> setKeys(v[0]); noteTruth()
  :: step == READ -> read(v[0])
  :: step == CONNECT -> connect(v[0]); newest = 0
  :: step == WRITTEN -> takeWritten()
  :: step == HEARD ->
    expect(canHear(v[0]));
    at = (stream.isHeard && sentAt[v[0]] < newest);
    hear(v[0], at);
    newest = sentAt[v[0]];
    expect(isWrong == !v[1])
  :: step == SAID ->
    if
    :: answersFromMemory -> expect((remembered == ALLOW) == v[0]); sayRemembered()
    :: else -> expect(answersUnknown && !v[0])
    fi
  :: step == SAW_ASKED -> expect(mustAsk && question[v[0]].phase == FREE); ask(v[0])
  :: step == SAW_ASKED_AGAIN -> expect(question[v[0]].phase == FREE); ask(v[0])
  :: step == SAW_JOINED -> expect(mustAsk && canJoin(v[0])); join(v[0])
  :: step == REACHED ->
    if
    :: v[2] -> expect(canAnswerAtOnce(v[0], v[1])); answerOrRefuse(v[0], v[1], record[hub[v[1]].position].inForce, 0)
    :: else -> expect(canAnswerAsked(v[0], v[1])); answerOrRefuse(v[0], v[1], isInForce, 1)
    fi;
    expect(wasReached(v[0]))
  :: step == SAW_ANSWERED -> expect(question[v[0]].phase == ANSWERED); sayAnswered(v[0]); answered(v[0])
  :: step == SAW_REFUSED -> expect(question[v[0]].phase == ASKING); release(v[0])
  :: else -> isRefused = 1
  fi
}

/* The hub writes what the model writes. */
inline takeWritten() {
  clear(v[0]);
  if
  :: stream.phase == ASKED -> openOrRefuse(v[0]); expect(stream.phase == OPEN)
  :: else -> expect(canTell(v[0])); tell(v[0])
  fi;
  expect(message[v[0]].position == v[1]);
  expect(message[v[0]].isEverything == v[2]);
  expect(message[v[0]].touchesToken == v[3]);
  x = 0;
  expect(isNear(message[v[0]].validFor, (v[4] > stream.gap -> v[4] - stream.gap : 0)));
  expect(keysOf[v[5]] == 255 || keysOf[v[5]] == message[v[0]].basis);
  keysOf[v[5]] = message[v[0]].basis;
  sentAt[v[0]] = v[6]
}

active proctype observed() {
  d_step {
    begin();
    for (i : 0 .. BASES - 1) { keysOf[i] = 255 };
    do
    :: !isRefused ->
      c_code {
        int n = 0, c;
        now.step = 0;
        while (scanf("%d", n == 0 ? &now.step : &now.v[n - 1]) == 1) {
          n++;
          while ((c = getchar()) == ' ');
          if (c == '\n' || c == EOF || n > 7) break;
          ungetc(c, stdin);
        }
      };
      if :: step == 0 -> break :: else -> steps++; take() fi
    :: else -> break
    od;
    c_code {
      if (now.isRefused) printf("refused step %d: %d\n", now.steps, now.step);
      else printf("accepted %d steps\n", now.steps);
    };
    skip
  }
}
