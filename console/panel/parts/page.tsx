/** The frame of a page: its title, what one can do there, and what it is about. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
// The code of the explorer's first view is one file where every page asks for all of it. In pieces
// it would be larger.
import '../../model/moves.ts'
import '../../model/pick.ts'
import '../../model/search.ts'
import '../../model/shell.ts'
import '../../model/view.ts'
import '../../ui/api-picker.tsx'
import '../../ui/parts.tsx'

interface PageProps {
  readonly title: string
  /** One sentence. */
  readonly about?: ComponentChildren
  /** The buttons of the page, the most important one last. */
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
  /** For a page that is a list: the list takes the height that is left. */
  readonly filled?: boolean
}

export function Page({ title, about, actions, children, filled = false }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // A user who came by a link or a key goes on from the top of the page.
  useLayoutEffect(() => {
    if (
      document.activeElement === document.body ||
      document.activeElement?.matches('.side a, .account-menu *')
    )
      heading.current?.focus({ preventScroll: true })
  }, [])
  return (
    <div class={filled ? 'panel-page filled' : 'panel-page'}>
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {about && <p class="dim">{about}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}
