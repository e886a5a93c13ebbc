/** The next place of the focus when its element is gone, or when the page shows a message. */

/**
 * Moves the focus once the page is drawn. A user who has begun to type elsewhere meanwhile keeps it: on a
 * slow machine a frame comes late, and the text must not go into another field.
 * @param find the first choice that is there then
 * @param before had the focus when all this began
 */
export function focusNext(find: () => Element | null | undefined, before = document.activeElement): void {
  requestAnimationFrame(() => {
    const { activeElement } = document
    if (activeElement !== before && activeElement?.matches('input, select, textarea')) return
    const next = find()
    if (!(next instanceof HTMLElement && next.isConnected)) return
    // A title is only where the keys go on from.
    next.focus({ preventScroll: next.matches('h1') })
  })
}

/** Goes on from the top of the page: the row that had the focus is gone. */
export function focusTitle(): void {
  focusNext(() => document.querySelector('h1'))
}
