/**
 * Ends for good what a clock that was ahead began: sessions and links. They count for nothing while they lie
 * in the future, and would count again once that time has come.
 */
import { CLOCK_SKEW_MS } from '../../base/time-limit.ts'
import { PanelChange } from '../../directory/panel-change.ts'
import { PanelRecords } from '../../directory/panel-records.ts'
import { trusted } from '../actor.ts'
import { changeDirectory } from '../administration/change-directory.ts'
import type { PanelParts } from './parts.ts'

/** How many sessions and links ended. */
export type Ended = Awaited<ReturnType<PanelChange['endLaterThan']>>

export interface ClockEvents {
  readonly onEnded: (ended: Ended) => void
  /** It is tried again a minute later. */
  readonly onFailed: (error: unknown) => void
}

type WrongClockOptions = ClockEvents & Pick<PanelParts, 'store' | 'now'>

/** No longer than `CLOCK_SKEW_MS`: what lies in the future is found before that time has come. */
const LOOK_MS = 60_000

const ACTOR = trusted('a clock that was ahead', 'users')

/** Looks at the start and every minute. */
export class WrongClock {
  readonly #options: WrongClockOptions
  readonly #timer: NodeJS.Timeout
  #looking: Promise<void>

  constructor(options: WrongClockOptions) {
    this.#options = options
    this.#looking = this.#look()
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#look())
    }, LOOK_MS).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  async #look(): Promise<void> {
    const { onEnded, onFailed } = this.#options
    try {
      const ended = await endAhead(this.#options)
      if (ended !== undefined) onEnded(ended)
    } catch (error) {
      onFailed(error)
    }
  }
}

/** `undefined`: there was nothing to end. */
export async function endAhead({
  store,
  now,
}: Pick<PanelParts, 'store' | 'now'>): Promise<Ended | undefined> {
  const latestMs = now() + CLOCK_SKEW_MS
  if (!(await new PanelRecords(store.records).hasLaterThan(latestMs))) return undefined
  return changeDirectory(store, ACTOR, (change) => new PanelChange(change).endLaterThan(latestMs))
}
