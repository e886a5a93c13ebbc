/** Keeps the page where it is while something on it would be lost, as a secret that is shown once. */

let keepers = 0
let here = ''

const ask = (event: Event): void => event.preventDefault()

/**
 * From now on the way back leads nowhere, and the browser asks before it leaves the page.
 *
 * @returns ends that
 */
export function stay(): () => void {
  if (keepers++ === 0) {
    here = location.href
    addEventListener('beforeunload', ask)
  }
  return () => {
    if (--keepers === 0) removeEventListener('beforeunload', ask)
  }
}

/**
 * Takes a move of the browser back if the page must stay. What the page does itself is meant.
 *
 * @returns whether it did
 */
export function isTakenBack({ isTrusted }: Event): boolean {
  if (keepers === 0) return false
  if (!isTrusted) here = location.href
  else if (location.href !== here) history.pushState(null, '', here)
  return isTrusted
}
