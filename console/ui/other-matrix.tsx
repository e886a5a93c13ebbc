/** Says that a link was made with another matrix than the one that is shown. */
import type { Engine } from '../../engine/index.ts'
import { shortDigest, type View } from '../model/view.ts'
import { texts } from '../texts/en/explorer.ts'
import type { Go } from './use-view.ts'

interface OtherMatrixProps {
  readonly view: View
  readonly engine: Engine
  readonly go: Go
}

export function OtherMatrix({ view, engine, go }: OtherMatrixProps) {
  const shown = shortDigest(engine.digest)
  if (view.matrix === undefined || view.matrix === shown) return null
  return (
    <p class="note" role="status">
      {texts.otherMatrix.note(view.matrix, shown)}
      <button type="button" class="quiet" onClick={() => go({ matrix: undefined }, 'replace')}>
        {texts.otherMatrix.hide}
      </button>
    </p>
  )
}
