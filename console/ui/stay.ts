/**
 * Keeps the page where it is while something on it would be lost: a secret that is shown once, or text that
 * is not saved.
 */

/** Goes on to where the user wanted to go. */
export type Leave = () => void

interface Keeper {
  /** Asks whether to leave. Absent: nothing leads away. */
  readonly ask?: (leave: Leave) => void
}

const keepers = new Set<Keeper>()
let here = ''

const warn = (event: Event): void => event.preventDefault()

/**
 * From now on the way back leads nowhere, and the browser asks before it leaves the page.
 *
 * @param ask called when the user wants to go elsewhere in the page
 * @returns ends that
 */
export function stay(ask?: Keeper['ask']): () => void {
  const keeper: Keeper = ask === undefined ? {} : { ask }
  if (keepers.size === 0) {
    here = location.href
    addEventListener('beforeunload', warn)
  }
  keepers.add(keeper)
  return () => {
    keepers.delete(keeper)
    if (keepers.size === 0) removeEventListener('beforeunload', warn)
  }
}

/** Goes elsewhere, or asks first where something would be lost. */
export function leaveTo(leave: Leave): void {
  const keeper = [...keepers].at(-1)
  if (keeper === undefined) leave()
  else keeper.ask?.(leave)
}

/**
 * Takes a move of the browser back if the page must stay. Events of the page itself are meant.
 *
 * @returns whether it did
 */
export function isTakenBack({ isTrusted }: Event): boolean {
  if (keepers.size === 0) return false
  const wanted = location.href
  if (!isTrusted) here = wanted
  else if (wanted !== here) {
    history.pushState(null, '', here)
    leaveTo(() => location.assign(wanted))
  }
  return isTrusted
}
