/** The tokens that a service user may obtain, and the APIs that they open, as the matrix has it. */
import { FIRST_VIEW, hashOf } from '../../../model/view.ts'
import { texts } from '../../../texts/en/iam.ts'
import { Icon } from '../../../ui/icons.tsx'
import { headline } from '../../../ui/parts.tsx'
import { usePanel } from '../../context.tsx'
import type { ServiceUser } from '../../model/iam-records.ts'
import { type ObtainedKind, obtainsOf } from '../../model/obtains.ts'

const { obtains: words } = texts

/** Names of projects that are written out. */
const NAMED_MAX = 3

export function Obtains({ user: { permissions, enabled } }: { readonly user: ServiceUser }) {
  const { rules } = usePanel()
  if (rules === undefined) return null
  const engine = rules.engine(rules.mode)
  return (
    <section class="obtains">
      <h3>{words.title}</h3>
      {!enabled && <p class="notice">{words.disabled}</p>}
      {obtainsOf(engine, permissions).map((obtained) => (
        <Kind key={obtained.kind.id} obtained={obtained} all={engine.apis.size} />
      ))}
    </section>
  )
}

function Kind({ obtained, all }: { readonly obtained: ObtainedKind; readonly all: number }) {
  const { kind, obtains, opens } = obtained
  const may = obtains === 'yes' || obtains === 'selected'
  return (
    <details class="obtained" data-may={may} open={may}>
      <summary>
        <Icon name={may ? 'check' : 'dash'} />
        <span>
          <strong>{headline(kind.title)}</strong>
          <span class="hint">{sentenceOf(obtained)}</span>
        </span>
      </summary>
      <p class="hint">{opens.length === 0 ? words.nothing : words.opens(opens.length, all)}</p>
      <ul class="opens-list">
        {opens.map(({ id, title, contested }) => (
          <li key={id}>
            <a href={hashOf({ ...FIRST_VIEW, opened: { api: id, kind: kind.id } })}>{title}</a>
            {contested && (
              <span class="badge" data-kind="warn" title={words.contestedHint}>
                {words.contested}
              </span>
            )}
          </li>
        ))}
      </ul>
    </details>
  )
}

function sentenceOf({ kind, obtains, projects }: ObtainedKind): string {
  if (obtains === 'yes') return kind.scopeLevel === 'project' ? words.everyProject : words.yes
  if (obtains !== 'selected') return words[obtains]
  const more = projects.length - NAMED_MAX
  return more > 1 ? words.selectedMany(projects.slice(0, NAMED_MAX), more) : words.selected(projects)
}
