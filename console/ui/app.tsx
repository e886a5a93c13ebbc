/** The page: the bar on top of every view, and the view. */
import type { ComponentChildren, ComponentType } from 'preact'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Route } from '../model/link.ts'
import type { Mode } from '../model/rules.ts'
import { hashOf, PAGES, type View } from '../model/view.ts'
import { texts } from '../texts/en/explorer.ts'
import type { Chosen } from './compare-page.tsx'
import type { ControlPanel, PanelEntry } from './control-panel.ts'
import type { Editing } from './edit/use-editing.ts'
import { Icon } from './icons.tsx'
import { MatrixPage } from './matrix-page.tsx'
import { OtherMatrix } from './other-matrix.tsx'
import type { PageProps } from './page.ts'
import { Choice } from './parts.tsx'
import { PlanPage } from './plan-page.tsx'
import { Settings } from './settings.tsx'
import { useSingleKeys, useTheme } from './stored.ts'
import { TryPage } from './try-page.tsx'
import { useKeys } from './use-keys.ts'
import { type AskRules, type Refused, type Shown, useRules } from './use-rules.ts'
import { type Go, useView } from './use-view.ts'

interface AppProps {
  /** The answer when the page was opened. */
  readonly first: Shown | Refused
  /** `undefined`: the page has its rules in itself. */
  readonly ask: AskRules | undefined
  /** `undefined`: there is no control panel here. */
  readonly entry: PanelEntry | undefined
}

export function App({ first, ask, entry }: AppProps) {
  const [view, go, route] = useView(entry)
  const { given, again, changed } = useRules(first, ask)
  const { rules } = given
  const [panel, isBroken] = useControlPanel(entry, changed, route !== undefined || rules === undefined)
  const [singleKeys, setSingleKeys] = useSingleKeys()
  const [theme, setTheme] = useTheme()
  const [help, setHelp] = useState(false)
  const [chosen, choose] = useState<Chosen | undefined>(undefined)
  const [editing, setEditing] = useState<Editing | undefined>(undefined)
  const props = useExplorer(given, view, go)
  const openHelp = useCallback(() => setHelp(true), [])
  const title = route === undefined ? texts.pages[view.page] : (panel?.titleOf(route) ?? texts.panel)
  useEffect(() => {
    document.title = `${title} · ${texts.name}`
  }, [title])
  useKeys({ go, singleKeys, leads: route === undefined, openHelp })

  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        {texts.skip}
      </button>
      <Top view={view} mode={props?.mode} modeInForce={rules?.mode} go={go} openHelp={openHelp} route={route}>
        {panel && <panel.Menu route={route} />}
      </Top>
      {route === undefined && props && <OtherMatrix view={view} engine={props.engine} go={go} />}
      <main id="content" tabIndex={-1}>
        {route !== undefined && panel && <panel.View route={route} rules={rules} />}
        {(route !== undefined || rules === undefined) && isBroken && <p role="alert">{texts.broken.title}</p>}
        {route === undefined && props && <Explorer {...props} {...{ chosen, choose, editing, setEditing }} />}
        {route === undefined && given.rules === undefined && (
          <given.Locked refusal={given} panel={panel} again={again} />
        )}
      </main>
      {panel && <panel.Over />}
      {help && (
        <Settings
          close={() => setHelp(false)}
          singleKeys={singleKeys}
          setSingleKeys={setSingleKeys}
          theme={theme}
          setTheme={setTheme}
        />
      )}
    </>
  )
}

/** The properties of the pages of the explorer; `undefined`: there are no rules to show. */
function useExplorer(given: Shown | Refused, view: View, go: Go): PageProps | undefined {
  const { rules } = given
  const mode = view.mode ?? rules?.mode
  const engine = useMemo(() => mode && rules?.engine(mode), [rules, mode])
  const wasLocked = useRef(false)
  useEffect(() => {
    // The form that had the focus is gone.
    if (wasLocked.current && rules) document.getElementById('content')?.focus()
    wasLocked.current = rules === undefined
  }, [rules])
  if (given.rules === undefined || mode === undefined || engine === undefined) return undefined
  return { ...given, mode, engine, view, go }
}

/** The state that is kept while the user looks at another page. */
interface ExplorerProps extends PageProps {
  readonly chosen: Chosen | undefined
  readonly choose: (chosen: Chosen | undefined) => void
  readonly editing: Editing | undefined
  readonly setEditing: (editing: Editing) => void
}

function Explorer(props: ExplorerProps) {
  const { page } = props.view
  if (page === 'matrix') return <MatrixPage {...props} />
  if (page === 'try') return <TryPage {...props} />
  if (page === 'plan') return <PlanPage {...props} />
  return <Later key={page} load={LATER[page]} {...props} />
}

/** The least used of the pages come when they are opened. */
const LATER: Readonly<Record<'compare' | 'edit', () => Promise<ComponentType<ExplorerProps>>>> = {
  compare: async () => (await import('./compare-page.tsx')).ComparePage,
  edit: async () => (await import('./edit/edit-page.tsx')).EditPage,
}

interface LaterProps extends ExplorerProps {
  readonly load: () => Promise<ComponentType<ExplorerProps>>
}

function Later({ load, ...props }: LaterProps) {
  const [Loaded, setLoaded] = useState<ComponentType<ExplorerProps> | undefined>(undefined)
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    load().then(
      (loaded) => setLoaded(() => loaded),
      () => setBroken(true),
    )
  }, [load])
  if (Loaded !== undefined) return <Loaded {...props} />
  return isBroken ? <p role="alert">{texts.broken.title}</p> : null
}

/** Loads the control panel: at once where it is shown, and else when the first view is drawn. */
function useControlPanel(
  entry: PanelEntry | undefined,
  changed: (loggedIn: boolean) => void,
  isShown: boolean,
): readonly [ControlPanel | undefined, isBroken: boolean] {
  const [panel, setPanel] = useState<ControlPanel | undefined>(undefined)
  const [isBroken, setBroken] = useState(false)
  const wanted = useRef(false)
  useEffect(() => {
    if (entry === undefined || wanted.current) return
    const start = () => {
      if (wanted.current) return
      wanted.current = true
      entry.load(changed).then(setPanel, () => setBroken(true))
    }
    if (isShown) {
      start()
      return
    }
    const timer = setTimeout(start, LOADED_AFTER_MS)
    return () => clearTimeout(timer)
  }, [entry, changed, isShown])
  return [panel, isBroken]
}

/** The first view of the explorer comes first. */
const LOADED_AFTER_MS = 300

interface TopProps extends Pick<PageProps, 'view' | 'go'> {
  readonly route: Route | undefined
  /** In the upper right corner. */
  readonly children: ComponentChildren
  /** `undefined`: there are no rules to show. */
  readonly mode: Mode | undefined
  readonly modeInForce: Mode | undefined
  readonly openHelp: () => void
}

function Top({ view, go, mode, modeInForce, openHelp, route, children }: TopProps) {
  return (
    <header class="top">
      <p class="brand">
        <Icon name="gate" />
        {texts.name}
      </p>
      <nav aria-label={texts.navigation}>
        {PAGES.map((page) => (
          <a
            key={page}
            href={hashOf({ ...view, page, opened: undefined })}
            aria-current={route === undefined && page === view.page ? 'page' : undefined}
            onClick={(event) => follow(event, go, page)}
          >
            {texts.pages[page]}
          </a>
        ))}
      </nav>
      {route === undefined && mode && (
        <Choice
          label={texts.mode.label}
          options={(['resolved', 'strict'] as const).map((each) => ({
            value: each,
            text: texts.mode[each],
            hint: each === 'strict' ? texts.mode.strictHint : texts.mode.resolvedHint,
          }))}
          chosen={mode}
          choose={(chosen) => go({ mode: chosen === modeInForce ? undefined : chosen })}
        />
      )}
      <button
        type="button"
        class="quiet settings-button"
        onClick={openHelp}
        aria-label={texts.settings.open}
        title={texts.settings.open}
      >
        <Icon name="settings" />
      </button>
      {children}
    </header>
  )
}

/** A link of the page, unless it is opened elsewhere. */
function follow(event: MouseEvent, go: Go, page: (typeof PAGES)[number]): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
  event.preventDefault()
  go({ page, opened: undefined })
}
