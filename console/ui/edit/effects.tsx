/** The result of the edits: contradictions, opened and closed cells, and what the linter finds. */
import { useState } from 'preact/hooks'
import type { Matrix } from '../../../engine/index.ts'
import type { Finding } from '../../../matrix/index.ts'
import { current, type Playground } from '../../model/playground.ts'
import { editorTexts } from '../../texts/en/editor.ts'
import { type Compared, Result, type SideWords } from '../comparison.tsx'
import { Choice, Message } from '../parts.tsx'
import { Conflicts } from './conflicts.tsx'
import type { Apply } from './use-editing.ts'

const words = editorTexts.effects

export const SIDES: SideWords = { before: words.before, after: words.after, hints: words.hints }

/** The matrix that the edits are compared with. */
export type Against = 'page' | 'source'

/** The matrix to compare with, and the choice of it. */
export function useAgainst(playground: Playground | undefined, ofPage: Matrix) {
  const [chosen, choose] = useState<Against>('page')
  const isOwn = playground === undefined || playground.source.from === 'page'
  const against: Against = isOwn ? 'page' : chosen
  const before = against === 'page' || playground === undefined ? ofPage : playground.states[0].matrix
  return { against, choose, before, isOwn }
}

interface EffectsProps {
  readonly playground: Playground
  readonly apply: Apply
  readonly against: ReturnType<typeof useAgainst>
  readonly compared: Compared | undefined
}

export function Effects({ playground, apply, against, compared }: EffectsProps) {
  const { matrix, open, findings } = current(playground)
  return (
    <>
      <Conflicts matrix={matrix} open={open} apply={apply} />
      {!against.isOwn && (
        <div class="setting">
          <span>{words.comparedWith}</span>
          <Choice
            label={words.comparedWith}
            options={(['page', 'source'] as const).map((value) => ({ value, text: words.against[value] }))}
            chosen={against.against}
            choose={against.choose}
          />
        </div>
      )}
      {compared && <Result title={words.title} words={SIDES} compared={compared} />}
      <Findings findings={findings} />
    </>
  )
}

function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  if (findings.length === 0) return null
  return (
    <section class="findings">
      <h2>{editorTexts.findings.title}</h2>
      <ul>
        {findings.map(({ code, path, line, expected, fix }) => (
          <li key={`${code} ${path}`}>
            <code>{code}</code>{' '}
            <span class="dim">
              {line !== undefined && `${editorTexts.findings.place(line)}, `}
              {path}
            </span>
            <p>
              <Message text={expected} />
            </p>
            {fix && (
              <p class="hint">
                <Message text={fix} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
