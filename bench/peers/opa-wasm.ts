/** OPA's policy compiled to wasm and evaluated in this process by OPA's own SDK. */
import { readFileSync } from 'node:fs'
import { loadPolicy } from '@open-policy-agent/opa-wasm'
import { opaData } from './opa.ts'
import type { Asked, Peer, Rule } from './peer.ts'

/** @param module path of the compiled policy */
export async function opaWasmPeer(
  module: string,
  rules: readonly Rule[],
  questions: readonly Asked[],
): Promise<Peer> {
  const policy = await loadPolicy(readFileSync(module))
  policy.setData(opaData(rules))
  const inputs = questions.map(inputOf)
  const ask = (input: ArrayBuffer): boolean => policy.evaluate(input)[0]?.result === true
  return {
    id: 'opa-wasm',
    name: 'OPA (wasm)',
    configured:
      'OPA (wasm): the policy looks up its data by API and kind; data loaded once; inputs serialised before, which its SDK offers for speed. Not optimised by partial evaluation, which made it slower (`-O 1` with the data in the bundle) or did not compile (`-O 1` without).',
    answers: async () => inputs.map(ask),
    countAllowed: {
      awaited: false,
      once: () => {
        let allowed = 0
        for (const input of inputs) if (ask(input)) allowed++
        return allowed
      },
    },
  }
}

function inputOf({ api, kind }: Asked): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = new TextEncoder().encode(JSON.stringify({ api, kind }))
  return buffer.slice(byteOffset, byteOffset + byteLength)
}
