/** Planning: the APIs of a job, and the smallest set of tokens for them. */

import { useMemo, useState } from 'preact/hooks'
import type { TokenKind } from '../../engine/index.ts'
import { carriageOf } from '../../engine/index.ts'
import { type PlannedTokenView, planView } from '../model/plan.ts'
import { isShared, planExample } from '../model/sample.ts'
import { texts } from '../texts/en/explorer.ts'
import { ApiPicker } from './api-picker.tsx'
import { HowToObtain } from './cell-panel.tsx'
import { Icon } from './icons.tsx'
import type { PageProps } from './page.ts'
import { Command, CopyButton, Facts, headline, linkOf } from './parts.tsx'

export function PlanPage({ rules, engine, view, go }: PageProps) {
  const [begin, setBegin] = useState(() => (isShared(view) ? [] : planExample(rules.matrix)))
  const isExample = view.apis.length === 0 && begin.length > 0
  const apis = isExample ? begin : view.apis
  const change = (changed: readonly string[]) => {
    setBegin([])
    go({ apis: changed }, 'replace')
  }
  const plan = useMemo(() => planView(engine, apis), [engine, apis])
  const titleOf = (api: string) => engine.apis.get(api)?.title ?? api
  return (
    <div class="task">
      <h1>{texts.plan.title}</h1>
      <p>{texts.plan.about}</p>
      <ApiPicker
        engine={engine}
        label={texts.plan.choose}
        without={view.apis}
        pick={(api) => change([...view.apis, api])}
      />
      {isExample && <p class="hint">{texts.plan.example}</p>}
      {apis.length > 0 && (
        <ul class="chosen" aria-label={texts.plan.apis}>
          {apis.map((api) => (
            <li key={api}>
              {titleOf(api)}
              <button
                type="button"
                class="quiet"
                aria-label={texts.plan.remove(titleOf(api))}
                onClick={() => change(apis.filter((each) => each !== api))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
          <li class="bare">
            <button type="button" class="quiet" onClick={() => change([])}>
              {texts.plan.clear}
            </button>
            <CopyButton text={() => linkOf({ ...view, apis }, engine)} label={texts.copyLink} />
          </li>
        </ul>
      )}
      <output class="unseen">{plan.tokens.length > 0 && texts.plan.tokens(plan.tokens.length)}</output>
      <div class="result">
        {apis.length === 0 && <p class="dim">{texts.plan.empty}</p>}
        {plan.tokens.length > 0 && <h2>{texts.plan.tokens(plan.tokens.length)}</h2>}
        {plan.tokens.map((token) => (
          <PlannedToken key={token.kind.id} token={token} open={(api) => go(cellOf(api, token.kind))} />
        ))}
        <Left title={texts.plan.open} apis={plan.open.map(titleOf)} />
        <Left title={texts.plan.unopened} apis={plan.unopened.map(titleOf)} />
        <Left title={texts.plan.unknown} apis={plan.unknown} />
        {plan.command && <Command title={texts.plan.command} text={plan.command} />}
      </div>
    </div>
  )
}

const cellOf = (api: string, kind: TokenKind) => ({ page: 'matrix', opened: { api, kind: kind.id } }) as const

interface PlannedTokenProps {
  readonly token: PlannedTokenView
  readonly open: (api: string) => void
}

function PlannedToken({ token: { kind, apis, login, issue, request }, open }: PlannedTokenProps) {
  return (
    <section class="planned">
      <h3>{headline(kind.title)}</h3>
      <Facts
        facts={{
          [texts.plan.opens]: (
            <ul class="opens">
              {apis.map((api) => (
                <li key={api.id}>
                  <button type="button" class="link" onClick={() => open(api.id)}>
                    {api.title}
                  </button>
                  {api.contested && (
                    <span class="contested">
                      <Icon name="flag" />
                      {texts.contested}
                    </span>
                  )}
                </li>
              ))}
            </ul>
          ),
          [texts.plan.permission]: permissionOf(kind),
          [texts.plan.issuedTo]: texts.plan.holders[kind.issuedTo] ?? kind.issuedTo,
          [texts.cell.header]: <code>{carriageOf(kind)}</code>,
          [texts.plan.lifetime]: lifetimeOf(kind),
        }}
      />
      {(kind.obtained.steps || kind.obtained.link) && (
        <>
          <h4>{texts.plan.steps[kind.obtained.by]}</h4>
          <HowToObtain obtained={kind.obtained} />
        </>
      )}
      {issue && <Command title={texts.plan.viaSidecar} text={issue} />}
      {login && (
        <details>
          <summary>{texts.plan.viaLogin}</summary>
          <Command title={texts.plan.viaLogin} text={login} />
        </details>
      )}
      <Command title={texts.plan.send} text={request} hint={texts.cell.requestHint} />
    </section>
  )
}

function Left({ title, apis }: { readonly title: string; readonly apis: readonly string[] }) {
  if (apis.length === 0) return null
  return (
    <p class="left">
      <strong>{title}</strong> {apis.join(', ')}
    </p>
  )
}

function permissionOf({ permissionScopes }: TokenKind): string {
  if (permissionScopes.length === 0) return texts.plan.noPermission
  const scopes = permissionScopes.map((scope) => texts.plan.permissionScopes[scope])
  return texts.plan.permissionOf(scopes.join(texts.plan.or))
}

const HOUR_SECONDS = 3_600

function lifetimeOf({ lifetimeSeconds }: TokenKind): string {
  if (lifetimeSeconds === null) return texts.plan.noExpiry
  return lifetimeSeconds % HOUR_SECONDS === 0
    ? texts.plan.hours(lifetimeSeconds / HOUR_SECONDS)
    : texts.plan.seconds(lifetimeSeconds)
}
