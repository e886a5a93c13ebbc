/** Keys that sign IAM tokens (Ed25519), and the file that holds them. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { readOrCreate } from '../data-folder.ts'

/** A key pair under its id. */
export interface SigningKey {
  readonly keyId: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** The key that signs, and every key whose tokens verify. */
export interface KeyRing {
  readonly active: SigningKey
  readonly all: readonly SigningKey[]
}

interface KeyFile {
  readonly keys: readonly {
    readonly key_id: string
    readonly state: 'staged' | 'active' | 'retired'
    readonly private_key: string
  }[]
}

/** Reads the key file, or creates it with one active key. */
export function openKeyRing(path: string): KeyRing {
  return readKeyRing(readOrCreate(path, newKeyFile), path)
}

function newKeyFile(): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  const file: KeyFile = {
    keys: [
      {
        key_id: randomBytes(8).toString('hex'),
        state: 'active',
        private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      },
    ],
  }
  return `${JSON.stringify(file, undefined, 2)}\n`
}

function readKeyRing(text: string, path: string): KeyRing {
  try {
    const { keys } = JSON.parse(text) as KeyFile
    const all = keys.map(({ key_id: keyId, private_key }) => {
      const privateKey = createPrivateKey(private_key)
      if (privateKey.asymmetricKeyType !== 'ed25519' || !/^[0-9a-f]{16}$/.test(keyId)) throw new Error()
      return { keyId, privateKey, publicKey: createPublicKey(privateKey) }
    })
    const active = all[keys.findIndex((key) => key.state === 'active')]
    if (active === undefined || new Set(all.map((key) => key.keyId)).size < all.length) throw new Error()
    return { active, all }
  } catch {
    // The cause is dropped on purpose: parse errors quote the text, which holds private keys.
    throw new Error(`${path}: expected signing keys as Portcullis writes them: Ed25519, one of them active`)
  }
}
