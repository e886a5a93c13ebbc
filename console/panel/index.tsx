/**
 * The control panel, as the page loads it: what stands in the upper right corner, and the page of a route.
 */
import type { ComponentType } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { FIRST_ROUTE, linkTo, type PanelPage, type Route } from '../model/routes.ts'
import { texts } from '../texts/en/panel.ts'
import type { ControlPanel } from '../ui/control-panel.ts'
import { type Context, goTo, PanelProvider, RouteProvider, usePanel, usePanelState } from './context.tsx'
import { AccountMenu, SideMenu } from './menu.tsx'
import { apiOver } from './model/api.ts'
import { type ApiError, apiErrorOf } from './model/errors.ts'
import { messageOf } from './model/messages.ts'
import { accountOf, menuOf, OPEN_PAGES } from './model/pages.ts'
import { panelIn, type Told, whoOf } from './model/panel.ts'
import { newToaster } from './model/toasts.ts'
import type { Who } from './model/wire.ts'
import { LoginCard, LoginPage } from './pages/login.tsx'
import { PAGES, THERE } from './pages.ts'
import { Page } from './parts/page.tsx'
import { Toasts } from './parts/toasts.tsx'
import { SessionDialogs } from './session-dialogs.tsx'

/**
 * Opens it once.
 *
 * @param changed called when a user has logged in or out
 * @param takeSecret the secret of the link that led here
 */
export async function openControlPanel(
  changed: (loggedIn: boolean) => void,
  takeSecret: () => string | undefined,
): Promise<ControlPanel> {
  const styled = loadStyle('panel-style')
  const channel = new BroadcastChannel('portcullis-session')
  let tryNow: () => void = () => {}
  const panel = panelIn({
    fetch: (path, init) => fetch(path, init),
    now: () => Date.now(),
    wait: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms)
        tryNow = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
    tell: (told) => channel.postMessage(told),
  })
  addEventListener('online', () => tryNow())
  channel.onmessage = ({ data }: MessageEvent<Told>) => void panel.heard(data).catch(() => {})
  const toaster = newToaster()
  const context: Context = {
    ...{ panel, api: apiOver(panel.ask), toaster, there: THERE },
  }
  let known = false
  panel.subscribe(() => {
    const loggedIn = whoOf(panel.state().session) !== undefined
    if (loggedIn !== known) changed(loggedIn)
    known = loggedIn
  })
  void panel.open()
  await styled
  return {
    Menu: ({ route }) => (
      <PanelProvider value={context}>
        <AccountMenu route={route} />
      </PanelProvider>
    ),
    View: ({ route, rules }) => (
      <PanelProvider value={useMemo(() => ({ ...context, rules }), [rules])}>
        <View route={route} takeSecret={takeSecret} />
      </PanelProvider>
    ),
    Login: ({ about }) => (
      <PanelProvider value={context}>
        <LoginHere about={about} />
      </PanelProvider>
    ),
    Over: () => (
      <PanelProvider value={context}>
        <Offline tryNow={() => tryNow()} />
        <Toasts toaster={context.toaster} />
        <SessionDialogs />
      </PanelProvider>
    ),
    titleOf: (route) => texts.pages[route.page],
  }
}

/** Loads the style whose address the page names, before what needs it is drawn. */
function loadStyle(name: string): Promise<void> {
  return new Promise((resolve) => {
    const link = document.createElement('link')
    link.rel = 'stylesheet'
    link.href = document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? ''
    link.onload = link.onerror = () => resolve()
    document.head.append(link)
  })
}

interface ViewProps {
  readonly route: Route
  readonly takeSecret: () => string | undefined
}

function View({ route, takeSecret }: ViewProps) {
  const { session, problem } = usePanelState()
  const who = whoOf(session)
  const open = OPEN_PAGES.includes(route.page)
  const lost = session !== undefined && who === undefined && !open
  useEffect(() => {
    if (lost) goTo({ page: 'login', given: afterOf(route) }, 'replace')
  }, [lost, route])
  if (route.page === 'link' || route.page === 'invitation')
    return <ByLink key={route.page} page={route.page} takeSecret={takeSecret} />
  if (session === undefined) return problem ? <Broken problem={problem} /> : <Waiting />
  if (route.page === 'login')
    return <LoginPage key={who === undefined ? 'nobody' : 'somebody'} route={route} />
  if (who === undefined) return null
  return (
    <RouteProvider value={route}>
      <div class="panel-frame">
        <SideMenu who={who} route={route} />
        <Inside key={`${who.type} ${who.name} ${accountOf(who, route) ?? ''}`} who={who} route={route} />
      </div>
    </RouteProvider>
  )
}

/** A user who has logged in waits for what they wanted to see. */
function LoginHere({ about }: { readonly about: string }) {
  const { session, problem } = usePanelState()
  if (session === undefined && problem) return <Broken problem={problem} />
  return session?.signedIn === false ? <LoginCard about={about} /> : <Waiting />
}

/**
 * Pages that a link with a secret leads to. Most people never open one, so they come when they are opened.
 */
const BY_LINK = {
  link: async () => (await import('./pages/link.tsx')).LinkPage,
  invitation: async () => (await import('./pages/invitation.tsx')).InvitationPage,
}

type ByLinkProps = Pick<ViewProps, 'takeSecret'> & { readonly page: keyof typeof BY_LINK }

function ByLink({ page, takeSecret }: ByLinkProps) {
  const [Loaded, setLoaded] = useState<ComponentType<Pick<ViewProps, 'takeSecret'>> | undefined>()
  const [problem, setProblem] = useState('')
  useEffect(() => {
    BY_LINK[page]().then(
      (component) => setLoaded(() => component),
      (error) => setProblem(messageOf(apiErrorOf(error), texts.broken)),
    )
  }, [page])
  if (Loaded !== undefined) return <Loaded takeSecret={takeSecret} />
  return problem === '' ? <Waiting /> : <p role="alert">{problem}</p>
}

function Waiting() {
  return <p class="waiting">{texts.loading}</p>
}

/** It is unknown who is logged in. */
function Broken({ problem }: { readonly problem: ApiError }) {
  const { panel } = usePanel()
  return (
    <div class="card" role="alert">
      <p>{messageOf(problem)}</p>
      <button type="button" onClick={() => void panel.open()}>
        {texts.retry}
      </button>
    </div>
  )
}

/** Where to go after logging in. */
function afterOf({ page, given }: Route): Route['given'] {
  return page === FIRST_ROUTE.page ? {} : { after: linkTo(page, given) }
}

/** A page, loaded when it is opened. */
function Inside({ who, route }: { readonly who: Who; readonly route: Route }) {
  const [loaded, setLoaded] = useState<{ page: PanelPage; component: ComponentType } | undefined>()
  const [problem, setProblem] = useState('')
  const seen = useMemo(
    () => menuOf(who, accountOf(who, route), THERE).some(({ pages }) => pages.includes(route.page)),
    [who, route],
  )
  useEffect(() => {
    setProblem('')
    PAGES[route.page]?.().then(
      (component) => setLoaded({ page: route.page, component }),
      (error) => setProblem(messageOf(apiErrorOf(error), texts.broken)),
    )
  }, [route.page])
  if (!seen) return <Missing />
  if (problem !== '') return <p role="alert">{texts.broken}</p>
  if (loaded?.page !== route.page) return <Waiting />
  return <loaded.component key={route.page} />
}

function Missing() {
  return (
    <Page title={texts.missing.title} about={texts.missing.about}>
      <p>
        <a href={linkTo('overview')}>{texts.missing.back}</a>
      </p>
    </Page>
  )
}

function Offline({ tryNow }: { readonly tryNow: () => void }) {
  const { reachable } = usePanelState()
  if (reachable) return null
  return (
    <div class="offline" role="alert">
      <p>
        <strong>{texts.offline.title}</strong> {texts.offline.about}
      </p>
      <button type="button" onClick={tryNow}>
        {texts.offline.now}
      </button>
    </div>
  )
}
