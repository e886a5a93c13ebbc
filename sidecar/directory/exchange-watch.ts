/** Looks whether the file of the directory is the one that was opened. */
import { type CallError, callError } from '../base/call-error.ts'
import type { DirectoryFiles } from './directory-files.ts'

/** Stops everything when the directory is no longer the one that was opened. */
export class ExchangeWatch {
  readonly #files: DirectoryFiles
  readonly #onReplaced: () => void
  #reported = false
  #lastChange = 0
  #error: CallError = callError('DIRECTORY_REPLACED', {})

  constructor(files: DirectoryFiles, onReplaced: () => void) {
    this.#files = files
    this.#onReplaced = onReplaced
  }

  /** @throws CallError if the file was exchanged, by a look of at most some milliseconds ago */
  expectSame(): void {
    if (this.#files.wereExchanged(performance.now())) this.#fail()
  }

  /** @throws CallError if the file is exchanged now */
  expectSameNow(): void {
    if (this.#files.areExchanged()) this.#fail()
  }

  /**
   * Changes are numbered, and a number never falls.
   *
   * @throws CallError if it did: the content is of an earlier time
   */
  expectForward(change: number): void {
    if (change < this.#lastChange) this.refuse()
    this.#lastChange = change
  }

  /** The content is not what it was. @throws CallError */
  refuse(): never {
    this.#files.reportExchanged()
    this.#fail()
  }

  /** The content is damaged: nothing is answered from it any more. The caller reports it. */
  stop(cause: Error): void {
    this.#error = callError('DIRECTORY_UNAVAILABLE', {}, { cause })
    this.#reported = true
    this.#files.reportExchanged()
  }

  /** Looks now, and reports. Returns whether the file is known to be exchanged. */
  look(): boolean {
    let exchanged = false
    try {
      exchanged = this.#files.areExchanged()
    } catch {}
    if (exchanged) this.#report()
    return exchanged
  }

  #fail(): never {
    this.#report()
    throw this.#error
  }

  #report(): void {
    if (this.#reported) return
    this.#reported = true
    this.#onReplaced()
  }
}
