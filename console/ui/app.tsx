/** The page: what is on top of every view, and the view. */
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import type { Mode, Rules } from '../model/rules.ts'
import { hashOf, PAGES } from '../model/view.ts'
import { texts } from '../texts/en.ts'
import { type Chosen, ComparePage } from './compare-page.tsx'
import { Icon } from './icons.tsx'
import { MatrixPage } from './matrix-page.tsx'
import { OtherMatrix } from './other-matrix.tsx'
import type { PageProps, Verify } from './page.ts'
import { Choice } from './parts.tsx'
import { PlanPage } from './plan-page.tsx'
import { Settings } from './settings.tsx'
import { useSingleKeys, useTheme } from './stored.ts'
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
  const [theme, setTheme] = useTheme()
  const [help, setHelp] = useState(false)
  const [chosen, choose] = useState<Chosen | undefined>(undefined)
  const mode = view.mode ?? rules.mode
  const engine = useMemo(() => rules.engine(mode), [rules, mode])
  const openHelp = useCallback(() => setHelp(true), [])
  useEffect(() => {
    document.title = `${texts.pages[view.page]} · ${texts.name}`
  }, [view.page])
  useKeys({ go, singleKeys, openHelp })

  const props: PageProps = { rules, mode, engine, view, go, verify }
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        {texts.skip}
      </button>
      <Top view={view} mode={mode} modeInForce={rules.mode} go={go} openHelp={openHelp} />
      <OtherMatrix view={view} engine={engine} go={go} />
      <main id="content" tabIndex={-1}>
        {view.page === 'matrix' && <MatrixPage {...props} />}
        {view.page === 'try' && <TryPage {...props} />}
        {view.page === 'plan' && <PlanPage {...props} />}
        {view.page === 'compare' && <ComparePage {...props} chosen={chosen} choose={choose} />}
      </main>
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

interface TopProps extends Pick<PageProps, 'view' | 'go' | 'mode'> {
  readonly modeInForce: Mode
  readonly openHelp: () => void
}

function Top({ view, go, mode, modeInForce, openHelp }: TopProps) {
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
      <button
        type="button"
        class="quiet settings-button"
        onClick={openHelp}
        aria-label={texts.settings.open}
        title={texts.settings.open}
      >
        <Icon name="settings" />
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
