/**
 * The time of a simulated fleet. All that the product knows of time comes from here: timers, the wall clock,
 * the monotonic clock and the disk's. Each machine has separate clocks, which run at different rates. Nothing
 * waits: the next timer is due at once.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import crypto from 'node:crypto'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import zlib from 'node:zlib'
import { DueHeap } from '../../world/due.ts'
import { seeded } from './randomness.ts'

/** A process of the fleet. Its work goes on only while it lives. */
export class Machine {
  readonly name: string
  /** How fast its clocks run. */
  readonly rate: number
  /** How far its wall clock is ahead, in milliseconds. */
  readonly wallAheadMs: number
  readonly beganMs = time.nowMs
  alive = true
  /** Until then it does nothing, as after SIGSTOP. */
  stoppedUntilMs = 0
  /** Until then something goes wrong with it or around it. */
  disturbedUntilMs = 0
  /** Until then the disk fails whatever it is asked to sync. */
  diskFailsUntilMs = 0
  /** Until then the disk has no room for more. */
  diskFullUntilMs = 0
  /** Its open files and connections, with the ways to close them. */
  readonly open = new Map<unknown, () => void>()
  /** The actions that were due meanwhile, in their order. */
  readonly backlog: (() => void)[] = []
  /** Timers that it has set, and what is on its way to it. */
  awaited = 0

  constructor(name: string, { rate = 1, wallAheadMs = 0 }: { rate?: number; wallAheadMs?: number } = {}) {
    this.name = name
    this.rate = rate
    this.wallAheadMs = wallAheadMs
  }

  run<T>(work: () => T): T {
    return current.run(this, work)
  }

  /** Ends the process. */
  end(): void {
    this.alive = false
    for (const close of this.open.values()) close()
    this.open.clear()
  }
}

/** When the simulation begins, on a wall clock that is right. */
const WALL_MS = Date.UTC(2031, 0, 1)
/** Monotonic clocks do not begin at 0. */
const UP_MS = 100_000

const current = new AsyncLocalStorage<Machine>()
const RealDate = Date
const realImmediate = setImmediate

type Timers = Pick<
  typeof globalThis,
  'setTimeout' | 'setInterval' | 'clearTimeout' | 'clearInterval' | 'setImmediate' | 'clearImmediate'
>

class Time {
  nowMs = 0
  readonly #due = new DueHeap()
  /** Turns of the event loop that were asked for and have not come. */
  #turns = 0
  /** Work of the real disk and of threads that has not ended. */
  #outside = 0

  /** Forgets everything that was to happen. */
  begin(): void {
    this.nowMs = 0
    this.#due.clear()
    this.onSettled = () => {}
  }

  /** Called after everything that happens. */
  onSettled: () => void = () => {}

  /** Does something later, outside every machine. */
  after(ms: number, run: () => void): { cancel(): void } {
    return this.#at(this.nowMs + Math.max(0, ms), run)
  }

  #at(atMs: number, run: () => void): { cancel(): void } {
    const due = this.#due.at(atMs, run)
    return {
      cancel: () => {
        due.cancelled = true
      },
    }
  }

  /** Does something later on a machine, unless it has ended by then; after it was stopped, if it is. */
  afterOn(machine: Machine | undefined, ms: number, run: () => void): { cancel(): void } {
    return this.atOn(machine, this.nowMs + Math.max(0, ms), run)
  }

  /** As `afterOn`. Actions for the same time are done in their order. */
  atOn(machine: Machine | undefined, atMs: number, run: () => void): { cancel(): void } {
    if (machine === undefined) return this.#at(atMs, run)
    let isOver = false
    machine.awaited++
    const end = () => {
      if (!isOver) machine.awaited--
      isOver = true
    }
    const attempt = () => {
      if (isOver) return
      end()
      if (machine.alive) machine.run(run)
    }
    const due = this.#at(atMs, () => {
      if (this.nowMs >= machine.stoppedUntilMs && machine.backlog.length === 0) attempt()
      else if (machine.backlog.push(attempt) === 1) this.#resume(machine)
    })
    return {
      cancel: () => {
        end()
        due.cancel()
      },
    }
  }

  /** Does what was due while the machine was stopped, one after the other. */
  #resume(machine: Machine): void {
    this.after(machine.stoppedUntilMs - this.nowMs, () => {
      if (this.nowMs >= machine.stoppedUntilMs) machine.backlog.shift()?.()
      if (machine.backlog.length > 0) this.#resume(machine)
    })
  }

  /** Lets this much time pass, and every action happen that is due in it. */
  async pass(ms: number): Promise<void> {
    const endMs = this.nowMs + ms
    for (let next = this.#due.first; next !== undefined && next.atMs <= endMs; next = this.#due.first) {
      this.#due.removeFirst()
      this.nowMs = Math.max(this.nowMs, next.atMs)
      next.run()
      await this.settle()
      this.onSettled()
    }
    this.nowMs = endMs
  }

  /**
   * Lets time pass until the promise is settled. @throws what it rejects with, or an Error after this time
   */
  async until<T>(promise: Promise<T>, withinMs: number): Promise<T> {
    let settled = false
    const ended = () => {
      settled = true
    }
    promise.then(ended, ended)
    await this.settle()
    const endMs = this.nowMs + withinMs
    while (!settled && this.nowMs < endMs) {
      const next = this.#due.first
      await this.pass(next === undefined ? withinMs : Math.max(0, next.atMs - this.nowMs))
    }
    if (!settled) throw new Error(`nothing came of it in ${withinMs} ms`)
    return promise
  }

  /** Returns when everything that waits for nothing but turns, the disk and threads has gone on. */
  async settle(): Promise<void> {
    do await turn()
    while (this.#turns > 0 || this.#outside > 0 || isBusyOutside())
  }

  /** The wall clock of a machine, in milliseconds since the epoch. */
  wallMs({ rate, wallAheadMs }: Pick<Machine, 'rate' | 'wallAheadMs'> = { rate: 1, wallAheadMs: 0 }): number {
    return Math.floor(WALL_MS + this.nowMs * rate + wallAheadMs)
  }

  /** From now on this process has no other time. */
  install(): void {
    const machineNow = () => (this.nowMs + UP_MS) * (current.getStore()?.rate ?? 1)
    const wallNow = () => this.wallMs(current.getStore())
    performance.now = machineNow
    globalThis.Date = class extends RealDate {
      constructor(...given: ConstructorParameters<typeof Date> | []) {
        if (given.length === 0) super(wallNow())
        else super(...(given as ConstructorParameters<typeof Date>))
      }
      static override now(): number {
        return wallNow()
      }
    } as DateConstructor
    const timers = this.#timers()
    Object.assign(globalThis, timers)
    Object.assign(timersPromises, this.#timerPromises(timers))
    this.#installDisk()
    this.#countOutside(crypto, ['argon2'])
    Object.assign(crypto, seeded())
    this.#countOutside(zlib, ['gzip', 'gunzip'])
    this.#countPromises(Object.getPrototypeOf(crypto.webcrypto.subtle), ['importKey', 'verify', 'digest'])
    syncBuiltinESMExports()
  }

  #timers(): Timers {
    const start =
      (repeat: boolean) =>
      (run: (...given: never[]) => void, ms: number, ...given: never[]) =>
        new Timer(repeat, () => run(...given), ms)
    const stop = (timer: unknown) => {
      if (timer instanceof Timer) timer.stop()
    }
    const immediate = (run: (...given: never[]) => void, ...given: never[]) => {
      const machine = current.getStore()
      this.#turns++
      const handle = { isOver: false, unref: () => handle, ref: () => handle }
      realImmediate(() => {
        this.#turns--
        if (!handle.isOver && machine?.alive !== false) run(...given)
        handle.isOver = true
      })
      return handle
    }
    const clearImmediate = (handle: { isOver: boolean } | undefined) => {
      if (handle !== undefined) handle.isOver = true
    }
    return {
      ...{ setTimeout: start(false), setInterval: start(true), clearTimeout: stop, clearInterval: stop },
      ...{ setImmediate: immediate, clearImmediate },
    } as unknown as Timers
  }

  #timerPromises({ setTimeout, clearTimeout, setImmediate }: Timers) {
    const aborted = (signal: AbortSignal) =>
      Object.assign(new Error('The operation was aborted', { cause: signal.reason }), {
        ...{ name: 'AbortError', code: 'ABORT_ERR' },
      })
    return {
      setTimeout: <T>(ms: number, value: T, { signal }: { signal?: AbortSignal } = {}) =>
        new Promise<T>((resolve, reject) => {
          if (signal?.aborted) return reject(aborted(signal))
          const stop = () => {
            clearTimeout(timer)
            reject(aborted(signal as AbortSignal))
          }
          const timer = setTimeout(() => {
            signal?.removeEventListener('abort', stop)
            resolve(value)
          }, ms)
          signal?.addEventListener('abort', stop, { once: true })
        }),
      setImmediate: <T>(value: T) => new Promise<T>((resolve) => setImmediate(() => resolve(value))),
    }
  }

  /** A sync of the disk takes a while. */
  #installDisk(): void {
    const sync = (_descriptor: number, callback: (error: Error | null) => void) => {
      const machine = current.getStore()
      this.afterOn(machine, this.syncMs(), () =>
        callback(this.nowMs < (machine?.diskFailsUntilMs ?? 0) ? failure() : null),
      )
    }
    const failure = () => Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
    Object.assign(fs, { fdatasync: sync, fsync: sync })
    this.#installFiles()
  }

  /** The open files of a process are closed when it ends. */
  #installFiles(): void {
    const { openSync, close } = fs
    const open = (...given: Parameters<typeof openSync>) => {
      const descriptor = openSync(...given)
      // Others are closed at once by those who open them.
      if (/-wal$|known-change$/.test(String(given[0])))
        current.getStore()?.open.set(descriptor, () => fs.closeSync(descriptor))
      return descriptor
    }
    const closed = (descriptor: number, ...given: [callback?: fs.NoParamCallback]) => {
      current.getStore()?.open.delete(descriptor)
      return close(descriptor, ...given)
    }
    Object.assign(fs, { openSync: open, close: closed })
  }

  /** Threads work while time stands still. */
  #countOutside<Names extends string>(module: Record<Names, unknown>, names: readonly Names[]): void {
    for (const name of names) {
      const real = module[name] as (...given: unknown[]) => void
      Object.assign(module, {
        [name]: (...given: unknown[]) => {
          const callback = given.pop() as (...results: unknown[]) => void
          this.#outside++
          return real(...given, (...results: unknown[]) => {
            this.#outside--
            callback(...results)
          })
        },
      })
    }
  }

  /** The same, of functions that return promises. */
  #countPromises<Names extends string>(module: Record<Names, unknown>, names: readonly Names[]): void {
    for (const name of names) {
      const real = module[name] as (...given: unknown[]) => Promise<unknown>
      const count = (change: 1 | -1) => {
        this.#outside += change
      }
      Object.assign(module, {
        [name](...given: unknown[]) {
          const result = real.apply(this, given)
          count(1)
          result.finally(() => count(-1)).catch(() => {})
          return result
        },
      })
    }
  }

  /** How long the next sync of the disk takes, in milliseconds. */
  syncMs: () => number = () => 0
}

export const time = new Time()

/** The machine on which the code runs. */
export function thisMachine(): Machine | undefined {
  return current.getStore()
}

class Timer {
  readonly #run: () => void
  readonly #ms: number
  readonly #repeat: boolean
  readonly #machine = current.getStore()
  #next: { cancel(): void }

  constructor(repeat: boolean, run: () => void, ms = 1) {
    this.#run = run
    this.#repeat = repeat
    // As Node has it.
    this.#ms = ms >= 1 && ms < 2 ** 31 ? Math.trunc(ms) : 1
    this.#next = this.#start()
  }

  #start() {
    return time.afterOn(this.#machine, this.#ms / (this.#machine?.rate ?? 1), () => {
      if (this.#repeat) this.#next = this.#start()
      this.#run()
    })
  }

  stop(): void {
    this.#next.cancel()
  }

  refresh(): this {
    this.stop()
    this.#next = this.#start()
    return this
  }

  unref(): this {
    return this
  }

  ref(): this {
    return this
  }

  hasRef(): boolean {
    return false
  }

  close(): this {
    this.stop()
    return this
  }

  [Symbol.dispose](): void {
    this.stop()
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => realImmediate(resolve))
}

/** Whether the real disk still works for this process. */
function isBusyOutside(): boolean {
  return process.getActiveResourcesInfo().some((each) => each.startsWith('FSReq') || each === 'CloseReq')
}
