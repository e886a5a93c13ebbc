/** Choosing a matrix file, which stays in this page. */
import { useLayoutEffect, useState } from 'preact/hooks'
import type { DocumentForm } from '../../matrix/index.ts'
import { compareTexts } from '../texts/en/compare.ts'
import { Icon } from './icons.tsx'

/** Whether a sidecar served the page, and not a disk. The build settles it. */
declare const SERVED: boolean

/**
 * The form of a file by its name. The parser of YAML is as large as the page, so the page that is one file
 * has none.
 *
 * @returns `undefined`: YAML, which is not read here
 */
export async function formOf(name: string): Promise<DocumentForm | undefined> {
  const { formOfName, forms } = await import('../../matrix/load.ts')
  const id = formOfName(name)
  if (id !== 'yaml') return forms[id]
  return SERVED ? (await import('../../matrix/yaml.ts')).yaml : undefined
}

type Take = (file: File | undefined) => void

/** A button that asks for a file. */
export function FileButton({ label, take }: { readonly label: string; readonly take: Take }) {
  return (
    <label class="button">
      {label}
      <input
        type="file"
        class="unseen"
        accept=".json,.jsonc,.yaml,.yml,application/json,application/yaml"
        onChange={(event) => {
          take(event.currentTarget.files?.[0])
          event.currentTarget.value = ''
        }}
      />
    </label>
  )
}

interface FileFieldProps {
  readonly isChosen: boolean
  readonly take: Take
}

/** The button, and where a file is dropped. */
export function FileField({ isChosen, take }: FileFieldProps) {
  const over = useDrop(take)
  return (
    <div class="drop" data-over={over} data-chosen={isChosen}>
      <Icon name="file" />
      <FileButton label={isChosen ? compareTexts.another : compareTexts.choose} take={take} />
      <span class="dim">{compareTexts.drop}</span>
      <p class="hint">{compareTexts.private}</p>
    </div>
  )
}

/** The whole page takes a file: beside the field, a browser would open the file in the place of the page. */
export function useDrop(take: Take): boolean {
  const [over, setOver] = useState(false)
  useLayoutEffect(() => {
    const stop = new AbortController()
    const on = (type: 'dragover' | 'dragleave' | 'drop', listener: (event: DragEvent) => void) =>
      addEventListener(type, listener, { signal: stop.signal })
    on('dragover', (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      setOver(true)
    })
    on('dragleave', (event) => {
      if (event.relatedTarget === null) setOver(false)
    })
    on('drop', (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      setOver(false)
      take(event.dataTransfer.files[0])
    })
    return () => stop.abort()
  })
  return over
}
