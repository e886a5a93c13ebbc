/** A digest: the beginning of it, and the whole one when it is opened or copied. */
import { CopyButton } from '../../../ui/parts.tsx'
import { shortOf } from '../../model/rollout.ts'

export function Digest({ digest, copy = false }: { readonly digest: string; readonly copy?: boolean }) {
  return (
    <div class="digest-line">
      <details>
        <summary>
          <code>{shortOf(digest)}</code>
        </summary>
        <code>{digest}</code>
      </details>
      {copy && <CopyButton text={() => digest} />}
    </div>
  )
}
