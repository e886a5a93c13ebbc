/**
 * Profile → Access → IAM tokens: those of a control panel user, which are created, copied or reissued for a
 * test (§5.1).
 */
import { useId, useState } from 'preact/hooks'
import { linkTo } from '../../model/routes.ts'
import { texts } from '../../texts/en/profile.ts'
import { Choice, CopyButton, Message } from '../../ui/parts.tsx'
import { usePanel } from '../context.tsx'
import { masked } from '../model/keys.ts'
import type { OwnToken } from '../model/own.ts'
import { menuOf } from '../model/pages.ts'
import { AskFirst } from '../parts/ask-first.tsx'
import { Form, useForm } from '../parts/form.tsx'
import { Page } from '../parts/page.tsx'
import { ProjectField } from '../parts/project-field.tsx'
import { RequestCommands } from '../parts/request-commands.tsx'
import { Moment } from '../parts/time.tsx'
import { useOwnToken } from '../parts/use-own-token.ts'
import { useUser } from '../parts/use-user.ts'

export function IamTokensPage() {
  const [scope, setScope] = useState<'account' | 'project'>('account')
  const form = useForm({ project: '' }, ({ project }) => ({
    project: scope === 'project' && project.trim() === '' ? texts.tokens.projectNeeded : undefined,
  }))
  const token = useOwnToken(scope === 'project' ? form.values.project.trim() : undefined)
  const { shown, expiresAtMs } = token
  const there = expiresAtMs !== undefined
  const [asking, setAsking] = useState(false)
  return (
    <Page title={texts.tokens.title} about={texts.tokens.about}>
      <Warning />
      <div class="token-form">
        <Form
          form={form}
          submit={there ? token.copy : token.create}
          button={there ? texts.tokens.copy : texts.tokens.create}
          beside={
            there && (
              <button type="button" onClick={() => void form.send(async () => setAsking(true))}>
                {texts.tokens.reissue}
              </button>
            )
          }
        >
          <div class="token-scope">
            <span aria-hidden="true">{texts.tokens.scope}</span>
            <Choice
              label={texts.tokens.scope}
              options={(['account', 'project'] as const).map((value) => ({
                value,
                text: texts.tokens.scopes[value],
              }))}
              chosen={scope}
              choose={setScope}
            />
          </div>
          {scope === 'project' && <ProjectField form={form} />}
          {there && shown?.token === undefined && (
            <p class="hint">
              {texts.tokens.there} <Moment ms={expiresAtMs} />.
            </p>
          )}
        </Form>
      </div>
      <p role="status">{shown && <Message text={shown.said} />}</p>
      {shown?.token && <OwnTokenView token={shown.token} />}
      {asking && <AskFirst {...texts.tokens.confirm} close={() => setAsking(false)} act={token.reissue} />}
    </Page>
  )
}

/** The advice of the source about such tokens, and the pages to use instead. */
function Warning() {
  const user = useUser()
  const { there } = usePanel()
  const pages = menuOf(user, user.account, there).flatMap((group) => group.pages)
  return (
    <p class="notice">
      {texts.tokens.warning}{' '}
      {pages.includes('iam/service-users') && (
        <a href={linkTo('iam/service-users')}>{texts.tokens.serviceUsers}</a>
      )}
    </p>
  )
}

/** An IAM token of the user, masked, with what copies it. */
function OwnTokenView({ token }: { readonly token: OwnToken }) {
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
