/** A clock that runs faster than ours, for real processes: libfaketime is loaded into each of them. */
import { globSync, rmSync } from 'node:fs'
import { run } from '../support/interop/command.ts'

/** How many seconds of the processes one of ours is. */
export const SPEED = 24

/** Debian's library, which is installed where that is possible. @throws CommandFailed */
export async function obtainFaketime(): Promise<string> {
  const there = () => globSync('/usr/lib/*/faketime/libfaketime.so.1')[0]
  if (there() === undefined) await run('apt-get', ['install', '-y', '--no-install-recommends', 'faketime'])
  return there() ?? ''
}

export class Clock {
  readonly #library: string
  #baseMs = 0
  #sinceMs = 0

  constructor(library: string, startMs: number) {
    this.#library = library
    this.set(startMs)
  }

  /** For processes that are started from now on. */
  set(ms: number): void {
    this.#baseMs = ms
    this.#sinceMs = performance.now()
  }

  /** In milliseconds since the epoch. */
  readonly now = (): number => this.#baseMs + (performance.now() - this.#sinceMs) * SPEED

  /** Of a process that is started now. Its workers go on with its clock. */
  get environment(): Readonly<Record<string, string>> {
    const [day, time] = new Date(this.now()).toISOString().slice(0, -5).split('T')
    return {
      LD_PRELOAD: this.#library,
      ...{ TZ: 'UTC', FAKETIME: `@${day} ${time} x${SPEED}`, FAKETIME_DONT_RESET: '1' },
    }
  }
}

/** Removes the memory that the library keeps for a killed process. */
export function forget(pid: number): void {
  for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`])
    rmSync(`/dev/shm/${name}`, { force: true })
}
