/** Who asks for decisions, and who is told of what they get. */
import type { Decision } from '../../engine/index.ts'

/** Whoever asks. Each protocol has to say both. */
export interface Asker {
  /** The same object for all questions of a connection: connections take turns where a credential is costly. */
  readonly connection: object
  /** `undefined`: nobody is told. */
  readonly listener: DecisionListener | undefined
}

/** Is told of every decision before the asker gets it. */
export interface DecisionListener {
  decided(decision: Decision, api: string): void
}
