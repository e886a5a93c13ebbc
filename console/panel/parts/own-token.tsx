/** An IAM token of one's own, masked, with what copies it. */
import { useId } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import { CopyButton } from '../../ui/parts.tsx'
import { masked } from '../model/keys.ts'
import type { OwnToken } from '../model/own.ts'
import { RequestCommands } from './request-commands.tsx'
import { Moment } from './time.tsx'

export function OwnTokenView({ token }: { readonly token: OwnToken }) {
  const { header, value, kind, project, account, expiresAtMs } = token
  const id = useId()
  const seen = masked(value)
  return (
    <section class="own-token">
      <h2>{project === '' ? texts.tokens.shown.account(account) : texts.tokens.shown.project(project)}</h2>
      <div class="secret">
        <label for={id}>{texts.tokens.label}</label>
        <div class="secret-row">
          <input id={id} type="text" class="mono" readOnly value={seen} autocomplete="off" />
          <CopyButton text={() => value} />
        </div>
        <p class="hint">
          {texts.tokens.expires} <Moment ms={expiresAtMs} />
        </p>
      </div>
      <RequestCommands header={header} value={value} seen={seen} kind={kind} />
    </section>
  )
}
