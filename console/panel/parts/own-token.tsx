/** An IAM token of one's own, masked, with what copies it. */
import { useId } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import { CopyButton } from '../../ui/parts.tsx'
import { masked } from '../model/keys.ts'
import type { OwnToken } from '../model/own.ts'
import { RequestCommands } from './request-commands.tsx'
import { Moment } from './time.tsx'

export function OwnTokenView({ token }: { readonly token: OwnToken }) {
  const { place, value, kind, project, account, expiresAtMs } = token
  const id = useId()
  return (
    <section class="own-token">
      <h2>{project === '' ? texts.tokens.shown.account(account) : texts.tokens.shown.project(project)}</h2>
      <div class="secret">
        <label for={id}>{texts.tokens.label}</label>
        <div class="secret-row short">
          <input id={id} type="text" class="mono" readOnly value={masked(value)} autocomplete="off" />
          <CopyButton text={() => value} />
        </div>
        <p class="hint">
          {texts.tokens.expires} <Moment ms={expiresAtMs} />
        </p>
      </div>
      <RequestCommands place={place} kind={kind} />
    </section>
  )
}
