/** The account menu in the upper right corner (§4.2), and the pages beside a page. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { linkTo, type PanelPage, type Route } from '../model/routes.ts'
import { texts } from '../texts/en/panel.ts'
import { Sign } from '../ui/icons.tsx'
import { leaveTo } from '../ui/stay.ts'
import { goTo, useMaybeWho, usePanel, useToast } from './context.tsx'
import { apiErrorOf } from './model/errors.ts'
import { messageOf } from './model/messages.ts'
import { accountOf, type MenuGroup, menuOf, OPEN_PAGES } from './model/pages.ts'
import type { Who } from './model/wire.ts'

/** Signs that the control panel alone has. The first view of the explorer needs none of them. */
const PATHS = {
  person: 'M8 2.5a2.75 2.75 0 1 0 0 5.5 2.75 2.75 0 0 0 0-5.5ZM2.5 14a5.5 5.5 0 0 1 11 0',
  down: 'M4.5 6.5 8 10l3.5-3.5',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
} as const

/** The part in the upper right corner: the menu of the user who is logged in, or the way to log in. */
export function AccountMenu({ route }: { readonly route: Route | undefined }) {
  const who = useMaybeWho()
  const [open, setOpen] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const close = (focus: boolean) => {
    setOpen(false)
    if (focus) button.current?.focus()
  }
  useClosing(box, open, close)
  if (who === undefined && route !== undefined && OPEN_PAGES.includes(route.page)) return null
  if (who === undefined)
    return (
      <a class="button account-button" href={linkTo('login')}>
        {texts.menu.logIn}
      </a>
    )
  return (
    <div class="account-menu" ref={box}>
      <button
        ref={button}
        type="button"
        class="quiet account-button"
        aria-expanded={open}
        aria-controls="account-menu"
        aria-label={`${texts.menu.label}: ${who.name}`}
        onClick={() => setOpen(!open)}
      >
        <PanelIcon name="person" />
        <span class="account-name">{who.name}</span>
        <PanelIcon name="down" />
      </button>
      {open && <Menu who={who} route={route} close={close} />}
    </div>
  )
}

/** Closes with Esc, with a click elsewhere, and when the focus goes elsewhere. */
function useClosing(
  box: { readonly current: HTMLElement | null },
  open: boolean,
  close: (focus: boolean) => void,
): void {
  useLayoutEffect(() => {
    if (!open) return
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape') close(true)
    }
    const elsewhere = (event: Event) => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) close(false)
    }
    addEventListener('keydown', onKey)
    addEventListener('pointerdown', elsewhere)
    addEventListener('focusin', elsewhere)
    return () => {
      removeEventListener('keydown', onKey)
      removeEventListener('pointerdown', elsewhere)
      removeEventListener('focusin', elsewhere)
    }
  })
}

/** Where the entries of the menu lead, for those who may see the page. */
const ENTRIES: readonly PanelPage[] = [
  'overview',
  'profile/access/keys',
  'iam/service-users',
  'projects',
  'access-limits',
  'audit',
  'operator/accounts',
  'operator/callers',
  'operator/keys',
  'operator/decisions',
  'operator/matrix',
]

/** Entries for all of a group are named after it. */
const NAMES: Partial<Readonly<Record<PanelPage, string>>> = {
  'profile/access/keys': texts.groups.profile,
  'iam/service-users': texts.groups.iam,
}

interface MenuProps {
  readonly who: Who
  readonly route: Route | undefined
  readonly close: (focus: boolean) => void
}

function Menu({ who, route, close }: MenuProps) {
  const { there } = usePanel()
  const account = route && accountOf(who, route)
  const seen = menuOf(who, account ?? (who.type === 'user' ? who.account : undefined), there).flatMap(
    ({ pages }) => pages,
  )
  const logOut = useLogOut()
  const list = useRef<HTMLUListElement>(null)
  // At once, so that no key is lost that is pressed next.
  useLayoutEffect(() => list.current?.querySelector('a')?.focus(), [])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const all = [...(list.current?.parentElement?.querySelectorAll<HTMLElement>('a, button') ?? [])]
    const at = all.indexOf(document.activeElement as HTMLElement)
    all[(at + step + all.length) % all.length]?.focus()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrows move between the links in it, as Tab does
    <div class="menu" id="account-menu" onKeyDown={onKeyDown}>
      <p class="menu-who">
        <strong>{who.name}</strong>
        <span class="dim">{who.type === 'user' ? texts.account(who.account) : texts.operator}</span>
      </p>
      <ul ref={list}>
        {ENTRIES.filter((page) => seen.includes(page)).map((page) => (
          <li key={page}>
            <a href={linkTo(page, givenOf(who, account))} onClick={() => close(false)}>
              {NAMES[page] ?? texts.pages[page]}
            </a>
          </li>
        ))}
      </ul>
      <button
        type="button"
        class="menu-out"
        onClick={() => {
          close(false)
          leaveTo(() => void logOut())
        }}
      >
        {texts.menu.logOut}
      </button>
    </div>
  )
}

/** Logs out. Where that fails the session goes on, so it is said. */
function useLogOut(): () => Promise<void> {
  const { panel } = usePanel()
  const say = useToast()
  return async () => {
    try {
      await panel.logOut()
      goTo({ page: 'login', given: {} })
    } catch (error) {
      say({ kind: 'failed', text: texts.errors.notLoggedOut(messageOf(apiErrorOf(error))) })
    }
  }
}

/** An operator keeps the account that they chose. */
function givenOf(who: Who, account: string | undefined): Route['given'] {
  return who.type === 'operator' && account !== undefined ? { account } : {}
}

/** The pages beside a page; where there is less room, behind a button above it. */
export function SideMenu({ who, route }: { readonly who: Who; readonly route: Route }) {
  const { there } = usePanel()
  const [open, setOpen] = useState(false)
  const account = accountOf(who, route)
  const groups = menuOf(who, account, there)
  // Another page closes it.
  useLayoutEffect(() => setOpen(false), [route.page])
  return (
    <nav class="side" aria-label={texts.menu.navigation} data-open={open}>
      <button type="button" class="side-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        <PanelIcon name="menu" />
        {texts.pages[route.page]}
      </button>
      <div class="side-groups">
        {who.type === 'operator' && account !== undefined && (
          <p class="side-account">{texts.account(account)}</p>
        )}
        {groups.map((group) => (
          <SideGroup key={group.group} group={group} current={route.page} given={givenOf(who, account)} />
        ))}
      </div>
    </nav>
  )
}

interface SideGroupProps {
  readonly group: MenuGroup
  readonly current: PanelPage
  readonly given: Route['given']
}

function SideGroup({ group: { group, pages }, current, given }: SideGroupProps) {
  return (
    <section>
      <h2>{texts.groups[group]}</h2>
      <ul>
        {pages.map((page) => (
          <li key={page}>
            <a href={linkTo(page, given)} aria-current={page === current ? 'page' : undefined}>
              {texts.pages[page]}
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

function PanelIcon({ name }: { readonly name: keyof typeof PATHS }) {
  return <Sign name={name} path={PATHS[name]} />
}
