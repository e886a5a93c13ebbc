/** The commands that use a token: a request with it, and the question to this sidecar. */

import { apiOpenedBy } from '../../model/sample.ts'
import { type Carried, checkVariable, READ_TOKEN, requestCommand } from '../../model/shell.ts'
import { texts } from '../../texts/en/profile.ts'
import { Command } from '../../ui/parts.tsx'
import { usePanel } from '../context.tsx'

interface RequestCommandsProps {
  readonly place: Carried
  /** Of the token. */
  readonly kind: string
}

/** The token is in none of them: it is read into a variable first. */
export function RequestCommands({ place, kind }: RequestCommandsProps) {
  // Without it a command is missing, and nothing else.
  const matrix = usePanel().rules?.matrix
  const api = matrix && apiOpenedBy(matrix, kind)
  return (
    <>
      <Command title={texts.request.read} text={READ_TOKEN} hint={texts.request.readHint} />
      <Command title={texts.request.title} text={requestCommand(place)} hint={texts.request.hint} />
      {api !== undefined && <Command title={texts.request.check} text={checkVariable(api, place)} />}
    </>
  )
}
