/**
 * Comparing with another matrix file: the cells that it opens, and then those that it closes. The file stays
 * in this page.
 */
import { useMemo, useRef } from 'preact/hooks'
import type { Matrix } from '../../engine/index.ts'
import type { Draft } from '../../matrix/load.ts'
import { compareExample } from '../model/compare-example.ts'
import { isShared } from '../model/sample.ts'
import type { View } from '../model/view.ts'
import { compareTexts } from '../texts/en/compare.ts'
import { Result, type SideWords, summaryOf, useCompared } from './comparison.tsx'
import { inSlices } from './in-slices.ts'
import { FileField, formOf } from './matrix-file.tsx'
import type { PageProps } from './page.ts'

const WORDS: SideWords = {
  before: compareTexts.now,
  after: compareTexts.withFile,
  hints: compareTexts.hints,
}

/** The result of reading the chosen file. */
export type Chosen =
  | { readonly type: 'reading' }
  | ({ readonly type: 'matrix'; readonly name: string } & Draft)
  | { readonly type: 'problem'; readonly message: string }

/** The first content of the page, unless the link was shared. */
function exampleOf(matrix: Matrix, view: View): Chosen | undefined {
  const made = isShared(view) ? undefined : compareExample(matrix)
  return made && { type: 'matrix', name: compareTexts.example, matrix: made, problems: [] }
}

interface CompareProps extends PageProps {
  readonly chosen: Chosen | undefined
  readonly choose: (chosen: Chosen) => void
}

export function ComparePage({ rules, view, chosen: file, choose }: CompareProps) {
  const example = useMemo(() => exampleOf(rules.matrix, view), [rules, view.matrix])
  const chosen = file ?? example
  const compared = useCompared(rules.matrix, chosen?.type === 'matrix' ? chosen.matrix : undefined)
  const reading = useRef<AbortController | undefined>(undefined)
  const take = async (file: File | undefined) => {
    if (file === undefined) return
    reading.current?.abort()
    const stop = new AbortController()
    reading.current = stop
    choose({ type: 'reading' })
    const read = await readFile(file, stop.signal)
    if (!stop.signal.aborted) choose(read)
  }
  return (
    <div class="task">
      <h1>{compareTexts.title}</h1>
      <p>{compareTexts.about}</p>
      <FileField isChosen={file?.type === 'matrix'} take={take} />
      <output class="unseen">
        {chosen?.type === 'reading' ? compareTexts.reading : compared && summaryOf(compared.comparison)}
      </output>
      <div class="result">
        {chosen !== undefined && chosen === example && <p class="hint">{compareTexts.exampleHint}</p>}
        {(chosen?.type === 'reading' || (chosen?.type === 'matrix' && compared === undefined)) && (
          <p class="dim">{compareTexts.reading}</p>
        )}
        {chosen?.type === 'problem' && (
          <div role="alert">
            <h2>{compareTexts.notValid}</h2>
            <pre class="problems">{chosen.message}</pre>
          </div>
        )}
        {chosen?.type === 'matrix' && compared && (
          <>
            <Unfinished problems={chosen.problems} />
            <Result title={compareTexts.against(chosen.name)} words={WORDS} compared={compared} />
          </>
        )}
      </div>
    </div>
  )
}

/** The problems that keep the file from being loaded. Its cells are compared anyway. */
function Unfinished({ problems }: Pick<Draft, 'problems'>) {
  if (problems.length === 0) return null
  return (
    <section class="unfinished">
      <h3>{compareTexts.unfinished}</h3>
      <p class="dim">{compareTexts.unfinishedHint}</p>
      <pre class="problems">{problems.map(({ path, expected }) => `${path}: ${expected}`).join('\n')}</pre>
    </section>
  )
}

/** The reader of files comes with the first one: it is half as large as the page. */
async function readFile(file: File, stopped: AbortSignal): Promise<Chosen> {
  const { draftInSteps } = await import('../../matrix/load.ts')
  const form = await formOf(file.name)
  if (form === undefined) return { type: 'problem', message: compareTexts.noYaml }
  if (file.size > form.bytesMax) return { type: 'problem', message: compareTexts.tooLarge }
  try {
    const draft = await inSlices(draftInSteps(new Uint8Array(await file.arrayBuffer()), form), stopped)
    return { type: 'matrix', name: file.name, ...draft }
  } catch (error) {
    return { type: 'problem', message: error instanceof Error ? error.message : compareTexts.notValid }
  }
}
