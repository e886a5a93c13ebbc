/** The page: what is on top of every view, and the view. */
import { useCallback, useMemo, useState } from 'preact/hooks'
import type { Mode, Rules } from '../model/rules.ts'
import { hashOf, PAGES } from '../model/view.ts'
import { texts } from '../texts/en.ts'
import { type Chosen, ComparePage } from './compare-page.tsx'
import { Help } from './help.tsx'
import { Icon } from './icons.tsx'
import { MatrixPage } from './matrix-page.tsx'
import type { PageProps, Verify } from './page.ts'
import { Choice } from './parts.tsx'
import { PlanPage } from './plan-page.tsx'
import { THEMES, useSingleKeys, useTheme } from './settings.ts'
import { TryPage } from './try-page.tsx'
import { useKeys } from './use-keys.ts'
import { type Go, useView } from './use-view.ts'

interface AppProps {
  readonly rules: Rules
  readonly verify: Verify | undefined
}

export function App({ rules, verify }: AppProps) {
  const [view, go] = useView()
  const [singleKeys, setSingleKeys] = useSingleKeys()
  const [help, setHelp] = useState(false)
  const [chosen, choose] = useState<Chosen | undefined>(undefined)
  const mode = view.mode ?? rules.mode
  const engine = useMemo(() => rules.engine(mode), [rules, mode])
  const openHelp = useCallback(() => setHelp(true), [])
  const closeOpened = useCallback(() => go({ opened: undefined }), [go])
  useKeys({ go, singleKeys, openHelp, closeOpened })

  const props: PageProps = { rules, mode, engine, view, go, verify }
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        {texts.skip}
      </button>
      <Top view={view} mode={mode} modeInForce={rules.mode} go={go} openHelp={openHelp} />
      <main id="content" tabIndex={-1}>
        {view.page === 'matrix' && <MatrixPage {...props} />}
        {view.page === 'try' && <TryPage {...props} />}
        {view.page === 'plan' && <PlanPage {...props} />}
        {view.page === 'compare' && <ComparePage {...props} chosen={chosen} choose={choose} />}
      </main>
      {help && <Help close={() => setHelp(false)} singleKeys={singleKeys} setSingleKeys={setSingleKeys} />}
    </>
  )
}

interface TopProps extends Pick<PageProps, 'view' | 'go' | 'mode'> {
  readonly modeInForce: Mode
  readonly openHelp: () => void
}

function Top({ view, go, mode, modeInForce, openHelp }: TopProps) {
  const [theme, setTheme] = useTheme()
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
            aria-current={page === view.page ? 'page' : undefined}
            onClick={(event) => follow(event, go, page)}
          >
            {texts.pages[page]}
          </a>
        ))}
      </nav>
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
      <Choice
        label={texts.theme.label}
        options={THEMES.map((value) => ({ value, text: texts.theme[value] }))}
        chosen={theme}
        choose={setTheme}
      />
      <button
        type="button"
        class="quiet keys-button"
        onClick={openHelp}
        aria-label={texts.help.open}
        title={texts.help.open}
      >
        <Icon name="keyboard" />
      </button>
    </header>
  )
}

/** A link of the page, unless it is opened elsewhere. */
function follow(event: MouseEvent, go: Go, page: (typeof PAGES)[number]): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
  event.preventDefault()
  go({ page, opened: undefined })
}
