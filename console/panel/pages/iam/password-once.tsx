/** A service user's password, shown this once, with the commands that obtain a token with it. */
import { texts } from '../../../texts/en/iam.ts'
import { Command } from '../../../ui/parts.tsx'
import { curlWith, issueWith, passwordFile } from '../../model/commands.ts'
import { draftOf } from '../../model/grants.ts'
import type { ServiceUser } from '../../model/iam-records.ts'
import { SecretOnce } from '../../parts/secret-once.tsx'

const { serviceUsers } = texts

/** In the memory of the page alone, until it is closed. */
export interface NewPassword {
  readonly user: ServiceUser
  readonly password: string
}

interface PasswordOnceProps {
  readonly secret: NewPassword
  readonly close: () => void
}

export function PasswordOnce({ secret: { user, password }, close }: PasswordOnceProps) {
  const { account, name, permissions } = user
  const { scope, projects } = draftOf(permissions)
  const file = passwordFile(name)
  const login = { account, user: name, file, project: scope === 'projects' ? projects[0] : undefined }
  return (
    <SecretOnce
      title={serviceUsers.passwordTitle(name)}
      about={serviceUsers.passwordAbout}
      label={serviceUsers.password}
      value={password}
      fileName={file}
      close={close}
    >
      {scope !== 'none' && (
        <>
          <p class="hint">{serviceUsers.obtainHint(file)}</p>
          <Command
            title={serviceUsers.request}
            text={curlWith(login, location.origin)}
            hint={serviceUsers.requestHint}
          />
          <Command title={serviceUsers.obtain} text={issueWith(login)} />
          <p class="hint">
            {serviceUsers.next}{' '}
            <a href="#/try" target="_blank" rel="noreferrer">
              {serviceUsers.tryIt}
            </a>
            .
          </p>
        </>
      )}
    </SecretOnce>
  )
}
