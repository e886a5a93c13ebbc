/** The commands that use a token: a request with it, and the question to this sidecar. */
import { apiOpenedBy, staticKind } from '../../model/sample.ts'
import { checkWith, requestWith } from '../../model/shell.ts'
import { texts } from '../../texts/en/profile.ts'
import { Command } from '../../ui/parts.tsx'
import { usePanel } from '../context.tsx'

interface RequestCommandsProps {
  readonly header: string
  readonly value: string
  /** In place of the value where it is not to be seen. */
  readonly seen?: string
  /** Of the token; absent: the kind of static tokens. */
  readonly kind?: string
}

export function RequestCommands({ header, value, seen = value, kind }: RequestCommandsProps) {
  // Without it a command is missing, and nothing else.
  const matrix = usePanel().rules?.matrix
  const id = kind ?? (matrix && staticKind(matrix))
  const api = matrix && id !== undefined ? apiOpenedBy(matrix, id) : undefined
  return (
    <>
      <Command
        title={texts.request.title}
        text={requestWith(header, seen)}
        copied={requestWith(header, value)}
        hint={texts.request.hint}
      />
      {api !== undefined && (
        <Command
          title={texts.request.check}
          text={checkWith(api, header, seen)}
          copied={checkWith(api, header, value)}
        />
      )}
    </>
  )
}
