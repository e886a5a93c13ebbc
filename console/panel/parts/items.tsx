/**
 * A list of a person's own things: a name, facts in small letters, and what one can do with it. Long names
 * wrap.
 */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import { focusNext } from '../../ui/focus.ts'
import { ITEMS_AT_ONCE } from '../model/keys.ts'

interface ItemsProps<T> {
  readonly label: string
  readonly items: readonly T[]
  readonly keyOf: (item: T) => string
  readonly children: (item: T) => ComponentChildren
}

export function Items<T>({ label, items, keyOf, children }: ItemsProps<T>) {
  const [most, setMost] = useState(ITEMS_AT_ONCE)
  const more = Math.min(ITEMS_AT_ONCE, items.length - most)
  const list = useRef<HTMLUListElement>(null)
  return (
    <>
      <ul class="items" aria-label={label} ref={list}>
        {items.slice(0, most).map((item) => (
          <li key={keyOf(item)}>{children(item)}</li>
        ))}
      </ul>
      {more > 0 && (
        <button
          type="button"
          class="more"
          onClick={() => {
            setMost(most + more)
            // The first of those that come now.
            focusNext(() => firstOf(list.current?.children[most]))
          }}
        >
          {texts.items.more(more)}
        </button>
      )}
    </>
  )
}

interface ItemProps {
  readonly title: ComponentChildren
  readonly badge?: ComponentChildren
  readonly facts: ComponentChildren
  readonly actions?: ComponentChildren
  /** Below all that. */
  readonly children?: ComponentChildren
  /**
   * The state on which the actions depend: where another state takes the button with the focus away, the
   * focus goes to the next one.
   */
  readonly state?: string
}

export function Item({ title, badge, facts, actions, children, state = '' }: ItemProps) {
  const element = useRef<HTMLDivElement>(null)
  const hadFocus = element.current?.contains(document.activeElement) ?? false
  useLayoutEffect(() => {
    const { current } = element
    const isInside = current !== document.activeElement && current?.contains(document.activeElement)
    if (hadFocus && !isInside) firstOf(current)?.focus({ preventScroll: true })
  }, [state])
  return (
    <div class="item" ref={element} data-state={state} tabIndex={-1}>
      <div class="item-text">
        <p class="item-title">
          <strong>{title}</strong>
          {badge}
        </p>
        <p class="item-facts">{facts}</p>
      </div>
      {actions && <div class="item-actions">{actions}</div>}
      {children}
    </div>
  )
}

/** A fact of an item: “Created 22 Nov 2026”. */
export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <span class="item-fact">
      {name} {children}
    </span>
  )
}

/** The element that takes the focus: the first button in it, or the item itself. */
function firstOf(within: Element | null | undefined): HTMLElement | undefined {
  const target = within?.querySelector('button:not(:disabled)') ?? within?.querySelector('.item') ?? within
  return target instanceof HTMLElement ? target : undefined
}
