/** The contract over gRPC, read by a client that shares no code with Portcullis. */
import type { ServiceDefinition } from '@grpc/proto-loader'
import { askBatch, askStream } from '../../support/contract/answers.ts'
import { BlackBox, type Message } from '../../support/contract/black-box.ts'
import { answerOfContract, everything, oneByOne, type Protocol } from '../protocol.ts'
import type { Question } from '../questions.ts'

const files = ['sidecar/contract/check-handlers.ts', 'sidecar/contract/responses.ts']
const method = (name: string) => `gRPC /portcullis.v1.AuthorizationService/${name}`

/**
 * The contract, by a client of it.
 *
 * @param service as the client knows it; default: as it is
 */
export const contractBy = (client: string, service?: ServiceDefinition): readonly Protocol[] => [
  {
    name: `${client} Check`,
    files,
    announced: [method('Check')],
    silent: everything,
    ask: async ({ address }, questions) => {
      const box = new BlackBox(address, service)
      const answers = await oneByOne(questions, (question) => box.ask('check', messageOf(question)))
      return answers.map(answerOfContract)
    },
  },
  {
    name: `${client} CheckBatch`,
    files,
    announced: [method('CheckBatch')],
    silent: everything,
    ask: async ({ address }, questions) =>
      (await askBatch(new BlackBox(address, service), questions.map(messageOf))).map(answerOfContract),
  },
  {
    name: `${client} CheckStream`,
    files,
    announced: [method('CheckStream')],
    silent: everything,
    ask: async ({ address }, questions) =>
      (await askStream(new BlackBox(address, service), questions.map(messageOf))).map(answerOfContract),
  },
]

export const CONTRACT = contractBy('gRPC')

function messageOf({ api, subject, target, clientAddress }: Question): Message {
  const asked =
    'claims' in subject
      ? { token: subject.claims }
      : { credentials: { headers: subject.headers.map(([name, value]) => ({ name, value })) } }
  return {
    ...{ api, ...asked },
    ...(target !== undefined && { target }),
    ...(clientAddress !== undefined && { client_address: clientAddress }),
  }
}
