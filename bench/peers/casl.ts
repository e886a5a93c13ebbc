/** CASL: one ability for each kind of token, as its guide makes one for each user. */
import { type AnyMongoAbility, createMongoAbility } from '@casl/ability'
import { type Asked, apisByKind, type Peer, type Rule } from './peer.ts'

const ACTION = 'open'

/** Two rows: the whole question, and its rest when the ability is already looked up. */
export function caslPeers(rules: readonly Rule[], questions: readonly Asked[]): Peer[] {
  const abilities = new Map(
    [...apisByKind(rules)].map(([kind, apis]) => [
      kind,
      createMongoAbility(apis.map((api) => ({ action: ACTION, subject: api }))),
    ]),
  )
  return [askedWhole(abilities, questions), abilityAtHand(abilities, questions)]
}

function askedWhole(abilities: ReadonlyMap<string, AnyMongoAbility>, questions: readonly Asked[]): Peer {
  const ask = ({ api, kind }: Asked): boolean => abilities.get(kind)?.can(ACTION, api) === true
  return {
    id: 'casl',
    name: 'CASL',
    configured:
      'CASL: an ability for each kind, built before and looked up by the kind, as a program looks up that of its user. Rules without conditions, which CASL looks up by action and subject. `can` is synchronous.',
    answers: async () => questions.map(ask),
    countAllowed: {
      awaited: false,
      once: () => {
        let allowed = 0
        for (const question of questions) if (ask(question)) allowed++
        return allowed
      },
    },
  }
}

function abilityAtHand(abilities: ReadonlyMap<string, AnyMongoAbility>, questions: readonly Asked[]): Peer {
  const prepared = questions.map(({ api, kind }) => ({ api, ability: abilities.get(kind) }))
  const ask = ({ api, ability }: (typeof prepared)[number]): boolean => ability?.can(ACTION, api) === true
  return {
    id: 'casl-ability-at-hand',
    name: 'CASL, the ability at hand',
    configured:
      'CASL: the same, but the ability of the kind is looked up before the clock starts, like the handle of the cell.',
    atHand: true,
    answers: async () => prepared.map(ask),
    countAllowed: {
      awaited: false,
      once: () => {
        let allowed = 0
        for (const question of prepared) if (ask(question)) allowed++
        return allowed
      },
    },
  }
}
