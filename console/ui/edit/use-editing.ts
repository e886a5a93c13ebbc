/** The matrix that is edited in the page: its source, the edits of a link, and each step. */
import { useCallback, useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { compareMatrices } from '../../../matrix/compare.ts'
import { editJson } from '../../../matrix/document/edit.ts'
import type { EditTools } from '../../../matrix/edit-file.ts'
import type { MatrixEdit } from '../../../matrix/edits.ts'
import type { MatrixProblem } from '../../../matrix/index.ts'
import { formOfName, forms, MatrixError } from '../../../matrix/load.ts'
import { matrixText } from '../../../matrix/new-matrix.ts'
import {
  begunWithin,
  current,
  EDITED_APIS_MAX,
  EDITED_BYTES_MAX,
  edited,
  type Playground,
  replayed,
  type Source,
  undone,
} from '../../model/playground.ts'
import { unpacked } from '../../model/playground-link.ts'
import { compareTexts } from '../../texts/en/compare.ts'
import { editorTexts } from '../../texts/en/editor.ts'
import { texts } from '../../texts/en/explorer.ts'
import { inSlices } from '../in-slices.ts'
import { formOf } from '../matrix-file.tsx'
import type { PageProps } from '../page.ts'
import { saidOf } from './status.ts'

/** The state of the editor that is kept while the user looks at another page. */
export interface Editing {
  /** `undefined`: nothing that can be edited. */
  readonly playground: Playground | undefined
  /** Why something is not shown: a file, a link, or a matrix that is too large. */
  readonly problem: string | undefined
  /** Texts that the user has outside of the page: in a file or in a link. */
  readonly kept: readonly string[]
  /** The link that is shown; `undefined`: none, or something was done since. */
  readonly link: string | undefined
  /** The effect of the last step, for screen readers. */
  readonly said: string
  /** The earlier state, before another beginning took its place. */
  readonly before: Editing | undefined
}

/** Makes edits. @returns what is wrong with them; none: they are made */
export type Apply = (...edits: readonly MatrixEdit[]) => readonly MatrixProblem[]

export interface EditorProps extends PageProps {
  readonly editing: Editing | undefined
  readonly setEditing: (editing: Editing) => void
}

const NOTHING: Editing = {
  ...{ playground: undefined, problem: undefined, kept: [], link: undefined, said: '', before: undefined },
}

/** How many beginnings can be undone. Each holds its texts. */
const BEFORE_MAX = 5

export function useEditing({ rules, view, go, editing, setEditing }: EditorProps) {
  const latest = useRef(editing)
  latest.current = editing
  const address = useRef(view.edits)
  address.current = view.edits
  const reading = useRef<AbortController | undefined>(undefined)
  const put: Put = useCallback(
    (change) => setEditing({ ...NOTHING, ...latest.current, problem: undefined, ...change }),
    [setEditing],
  )
  // The link no longer says what is shown. Opened again, it is read again.
  const show: Put = (change) => {
    reading.current?.abort()
    put({ ...change, link: undefined })
    if (address.current !== undefined) go({ edits: undefined }, 'replace')
  }
  const begin: Put = (change) => show({ said: '', before: behind(latest.current), ...change })
  // At once, so that a file which the user chooses at once is not replaced.
  useLayoutEffect(() => {
    const { edits } = view
    const ofPage = () => beginning(pageSource(rules.matrix), JSON_TOOLS)
    if (edits === undefined || edits === latest.current?.link) {
      if (latest.current === undefined) begin(ofPage())
      return
    }
    const stop = new AbortController()
    reading.current = stop
    const read = async () => {
      const change = await followed(edits, pageSource(rules.matrix), stop.signal)
      if (stop.signal.aborted) return
      const isBroken = change.playground === undefined
      const shown = isBroken && latest.current === undefined ? ofPage() : {}
      put({
        said: '',
        ...(!isBroken && { before: behind(latest.current) }),
        ...shown,
        ...change,
        link: edits,
      })
    }
    void read()
    return () => stop.abort()
  }, [view.edits])
  useLeaveWarning(editing)
  return { ...editsOf(latest, put, show), ...waysOf(latest, { put, show, begin }) }
}

type Put = (change: Partial<Editing>) => void
type Latest = { readonly current: Editing | undefined }

/** The functions that change the matrix. */
function editsOf(latest: Latest, put: Put, show: Put) {
  const apply: Apply = (...edits) => {
    const playground = latest.current?.playground
    if (playground === undefined) return []
    const outcome = edited(playground, edits)
    if (outcome.type === 'refused') return outcome.problems
    if (outcome.type === 'edited') {
      const [before, after] = [current(playground), current(outcome.playground)]
      const comparison = compareMatrices(before.matrix, after.matrix)
      show({ playground: outcome.playground, said: saidOf(comparison, after) })
    }
    return []
  }
  /** For edits without a form: a fault of one is shown above the table. */
  const exchange: Apply = (...edits) => {
    const problems = apply(...edits)
    if (problems.length > 0) put({ problem: new MatrixError(problems).message })
    return problems
  }
  return { apply, exchange }
}

/** The ways back and to other beginnings. */
function waysOf(latest: Latest, { put, show, begin }: Readonly<Record<'put' | 'show' | 'begin', Put>>) {
  return {
    undo: () => {
      const { playground, before } = latest.current ?? NOTHING
      const said = editorTexts.status.undone
      if (playground !== undefined && playground.steps.length > 0)
        show({ playground: undone(playground), said })
      else if (before !== undefined) show({ ...before, said })
    },
    startOver: () => {
      const playground = latest.current?.playground
      if (playground === undefined) return
      const [first] = playground.states
      begin({ playground: { ...playground, steps: [], states: [first] } })
    },
    openFile: async (file: File | undefined) => {
      if (file === undefined) return
      const change = await readFile(file)
      if (change.playground === undefined) put({ problem: change.problem })
      else begin(change)
    },
    beginNew: (source: Source): readonly MatrixProblem[] => {
      try {
        const playground = begunWithin(source, JSON_TOOLS)
        if (playground === undefined) return [{ path: '', expected: tooLarge() }]
        begin({ playground, kept: [] })
        return []
      } catch (error) {
        if (!(error instanceof MatrixError)) throw error
        return error.problems
      }
    },
    /** The user has the text outside of the page. */
    keep: () => {
      const { playground, kept } = latest.current ?? NOTHING
      if (playground !== undefined) put({ kept: [...kept, current(playground).text] })
    },
  }
}

/** The earlier state, as something to go back to. */
function behind(editing: Editing | undefined, most = BEFORE_MAX): Editing | undefined {
  return editing && most > 0 ? { ...editing, before: behind(editing.before, most - 1) } : undefined
}

/** Whether there is a text that is nowhere else, be it behind another beginning. */
function isUnsaved(editing: Editing | undefined): boolean {
  if (editing === undefined) return false
  const { playground, kept, before } = editing
  return (playground !== undefined && !kept.includes(current(playground).text)) || isUnsaved(before)
}

/** The browser asks before it leaves what is nowhere else. */
function useLeaveWarning(editing: Editing | undefined): void {
  const isLost = isUnsaved(editing)
  useEffect(() => {
    if (!isLost) return
    const warn = (event: Event) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isLost])
}

const JSON_TOOLS: EditTools = { form: forms.jsonc, editor: editJson }

/** Whether a sidecar served the page, and not a disk. The build settles it. */
declare const SERVED: boolean

/** @returns `undefined`: YAML, which this page does not read */
async function toolsOf(name: string): Promise<EditTools | undefined> {
  const form = await formOf(name)
  if (form?.id !== 'yaml') return form && { form, editor: editJson }
  return SERVED ? { form, editor: (await import('../../../matrix/yaml-editor.ts')).editYaml } : undefined
}

/** @returns `undefined`: it is too large to edit */
function pageSource(matrix: PageProps['rules']['matrix']): Source | undefined {
  if (matrix.apis.length > EDITED_APIS_MAX) return undefined
  return { from: 'page', name: 'matrix.json', text: matrixText(matrix) }
}

const inKiB = (bytes: number): string => `${bytes / 1024} KiB`

const tooLarge = (): string =>
  editorTexts.tooLarge(
    EDITED_APIS_MAX.toLocaleString(texts.language),
    inKiB(EDITED_BYTES_MAX.json),
    inKiB(EDITED_BYTES_MAX.yaml),
  )

type Beginning = Pick<Editing, 'playground' | 'problem' | 'kept'>

const refused = (problem: string): Beginning => ({ playground: undefined, problem, kept: [] })

/** Begins with a text, or says why not. */
function beginning(source: Source | undefined, tools: EditTools | undefined): Beginning {
  if (tools === undefined) return refused(compareTexts.noYaml)
  if (source === undefined) return refused(tooLarge())
  try {
    const playground = begunWithin(source, tools)
    if (playground === undefined) return refused(tooLarge())
    return { playground, problem: undefined, kept: source.from === 'new' ? [] : [source.text] }
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return refused(new MatrixError(error.problems, source.name).message)
  }
}

async function readFile(file: File): Promise<Beginning> {
  const { name } = file
  if (file.size > EDITED_BYTES_MAX[formOfName(name)]) return refused(`${name}: ${tooLarge()}`)
  const [tools, text] = [await toolsOf(name), textOf(await file.arrayBuffer())]
  if (text === undefined) return refused(`${name}: ${editorTexts.noText}`)
  return beginning({ from: 'file', name, text }, tools)
}

/** @returns `undefined`: it is not text in UTF-8 */
function textOf(bytes: ArrayBuffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The matrix of a link. */
async function followed(
  edits: string,
  own: Source | undefined,
  stopped: AbortSignal,
): Promise<Pick<Editing, 'problem'> & Partial<Editing>> {
  const carried = await unpacked(edits)
  if (carried === undefined) return { problem: editorTexts.noLink }
  const source = carried.source ?? own
  const begin = beginning(source, carried.source ? await toolsOf(carried.source.name) : JSON_TOOLS)
  if (begin.playground === undefined) return { problem: begin.problem }
  try {
    const made = await inSlices(replayed(begin.playground, carried.steps), stopped)
    const { playground } = made
    const problem =
      made.refused.length === 0 ? undefined : new MatrixError(made.refused, editorTexts.linkRefused).message
    return { playground, problem, kept: [playground.source.text, current(playground).text] }
  } catch {
    return { problem: editorTexts.noLink }
  }
}
