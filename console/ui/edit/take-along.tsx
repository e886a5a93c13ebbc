/** Taking it along: the file, tests that hold it, the commands for both, and a link. */
import { useEffect, useState } from 'preact/hooks'
import { characterise } from '../../../matrix/policy-tests/index.ts'
import { current, isReplayable, type Playground, testsName } from '../../model/playground.ts'
import { fileCommands } from '../../model/playground-commands.ts'
import { packed } from '../../model/playground-link.ts'
import { rulesOf } from '../../model/rules.ts'
import { EDITS_LENGTH_MAX } from '../../model/view.ts'
import { editorTexts } from '../../texts/en/editor.ts'
import { texts } from '../../texts/en/explorer.ts'
import { Icon } from '../icons.tsx'
import type { PageProps } from '../page.ts'
import { Command, CopyButton, linkOf } from '../parts.tsx'
import { saveFile } from '../save-file.ts'

const words = editorTexts.take

interface TakeAlongProps extends Pick<PageProps, 'view' | 'engine'> {
  readonly playground: Playground
  /** Called when the user has the text outside of the page. */
  readonly keep: () => void
}

export function TakeAlong({ playground, view, engine, keep }: TakeAlongProps) {
  const { name } = playground.source
  const { text, open, matrix } = current(playground)
  const tests = testsName(name)
  const edits = usePacked(playground)
  const saveTests = () => {
    const rules = rulesOf(matrix, 'resolved')
    const engines = { lenient: rules.engine('resolved'), strict: rules.engine('strict') }
    saveFile(tests, [characterise({ matrix, engines })], 'application/yaml')
  }
  return (
    <section class="take-along">
      <h2>{words.title}</h2>
      <div class="onwards">
        <button
          type="button"
          class="main"
          onClick={() => {
            saveFile(name, [text], 'application/octet-stream')
            keep()
          }}
        >
          <Icon name="file" />
          {words.file(name)}
        </button>
        {open.length === 0 && (
          <button type="button" onClick={saveTests}>
            <Icon name="check" />
            {words.tests(tests)}
          </button>
        )}
      </div>
      <p class="hint">{open.length === 0 ? words.testsHint : words.notYet}</p>
      <Command title={words.commands} text={fileCommands(name).join('\n')} />
      {edits !== undefined &&
        (!isReplayable(playground) ? (
          <p class="hint" role="status">
            {words.tooMuch}
          </p>
        ) : edits.length > EDITS_LENGTH_MAX ? (
          <p class="hint" role="status">
            {words.tooLong(inNumbers(edits.length), inNumbers(EDITS_LENGTH_MAX))}
          </p>
        ) : (
          <div class="take-link">
            <CopyButton text={() => linkOf({ ...view, edits }, engine)} label={words.link} />
            <span class="hint">{words.linkHint}</span>
          </div>
        ))}
    </section>
  )
}

const inNumbers = (count: number): string => count.toLocaleString(texts.language)

/** The edits as a part of a link; `undefined` until they are packed. */
function usePacked(playground: Playground): string | undefined {
  const [made, setMade] = useState<{ readonly of: Playground; readonly edits: string } | undefined>(undefined)
  useEffect(() => {
    let isLatest = true
    void packed(playground).then((edits) => {
      if (isLatest) setMade({ of: playground, edits })
    })
    return () => {
      isLatest = false
    }
  }, [playground])
  return made?.of === playground ? made.edits : undefined
}
