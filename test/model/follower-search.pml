/* Every order of every action of follower.pml. */

#define canMake (made < RECORDS)
#define canRestore (made < RECORDS && restorations < RESTORATIONS)

#define RESTORE(b) \
  :: d_step { canRestore && b <= made -> restore(b); noteTruth(); skip } \
  :: d_step { canRestore && b < numberOf(last) -> replace(b + 1, 0); skip } \
  :: d_step { canRestore && b < numberOf(last) -> replace(b + 1, 1); noteTruth(); skip }
#define HUB(h) \
  :: d_step { canRead(h) -> read(h); skip } \
  :: d_step { stream.phase != ASKED || stream.hub != h || stream.gap > 0 -> connect(h); skip }
/* Slots are used in their order. */
#define isNext(m) (m == 0 || message[m - 1].isUsed)
#define MESSAGE(m) \
  :: d_step { canOpen(m) && isNext(m) -> openOrRefuse(m); skip } \
  :: d_step { canTell(m) && isNext(m) -> tell(m); skip }
#define ANSWER(q, h) \
  :: d_step { canAnswerAtOnce(q, h) -> answerOrRefuse(q, h, record[hub[h].position].inForce, 0); skip } \
  :: d_step { canAnswerAsked(q, h) -> answerOrRefuse(q, h, isInForce, 1); skip }
#define QUESTION(q) \
  :: d_step { mustAsk && question[q].phase == FREE && line != HUBS -> ask(q); skip } \
  :: d_step { mustAsk && canJoin(q) && (isOver(endedFor) || isOver(withdrawnFor)) -> join(q); skip } \
  ANSWER(q, 0) \
  ANSWER(q, 1) \
  :: d_step { question[q].phase == ANSWERED -> sayAnswered(q); answered(q); skip }

inline shift() {
  for (i : 0 .. MESSAGES - 2) {
    message[i].isUsed = message[i + 1].isUsed;
    message[i].position = message[i + 1].position;
    message[i].isEverything = message[i + 1].isEverything;
    message[i].touchesToken = message[i + 1].touchesToken;
    message[i].validFor = message[i + 1].validFor;
    message[i].basis = message[i + 1].basis
  };
  clear(MESSAGES - 1)
}

active proctype everything() {
  d_step {
    c_code { if (getenv("FAULT")) now.fault = atoi(getenv("FAULT")); };
    begin();
    skip
  }
  do
  :: d_step { canMake -> change(TOKEN, !isInForce); noteTruth(); skip }
  :: d_step { canMake -> change(OTHER, isInForce); skip }
  :: d_step { keyChanges < KEY_CHANGES -> setKeys(keys ^ OWN_KEY); noteTruth(); skip }
  RESTORE(0)
#if RECORDS > 1
  RESTORE(1)
#endif
#if RECORDS > 2
  RESTORE(2)
#endif
#if RECORDS > 3
  RESTORE(3)
#endif
  HUB(0)
  HUB(1)
  MESSAGE(0)
#if MESSAGES > 1
  MESSAGE(1)
#endif
  QUESTION(0)
#if QUESTIONS > 1
  QUESTION(1)
#endif
  /* In order, once or twice; or in the wrong order. */
  :: d_step { canHear(0) -> hear(0, 0); shift(); skip }
  :: d_step { canHear(0) -> hear(0, 0); skip }
#if MESSAGES > 1
  :: d_step { canHear(1) -> hear(1, 0); if :: message[0].isUsed -> hear(0, 1) :: else fi; shift(); shift(); skip }
#endif
  :: d_step { answersFromMemory -> sayRemembered(); skip }
  /* It is displaced by others, or its answer is lost. */
  :: d_step { remembered != NOTHING -> remembered = NOTHING; skip }
  :: d_step { position != NONE || stream.phase != NO_STREAM -> restart(); skip }
  :: d_step { pass(1); skip }
  od
}
