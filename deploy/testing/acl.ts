// Reads EMQX's acl.conf, which is a sequence of Erlang terms, and applies it like emqx_authz_rule of EMQX 5.8.9.
import { isMatch } from './rule.ts'

export interface Client {
  readonly username?: string | undefined
  readonly clientid: string
  /** The attributes that a verified token or certificate gives the client. */
  readonly client_attrs: Readonly<Record<string, string>>
}

/** A rule of acl.conf, or of the list in a token. */
export interface AclRule {
  readonly permission: 'allow' | 'deny'
  /** The clients to which the rule applies: all, or those with a certain user name or client id. */
  readonly who: 'all' | { readonly key: 'username' | 'clientid'; readonly value: string | RegExp }
  readonly action: 'all' | 'publish' | 'subscribe'
  /** Undefined means every topic. */
  readonly topics: readonly string[] | undefined
}

const TERM =
  /^\{(allow|deny), (all|\{(username|clientid), (?:"([^"]+)"|\{re, "([^"]+)"\})\})(?:, (all|publish|subscribe), (all|\[[^\]]+\]))?\}$/

export function parseAcl(source: string): readonly AclRule[] {
  const terms = source
    .replace(/%%.*$/gm, '')
    .split(/\.\s*\n/)
    .map((term) => term.trim())
    .filter((term) => term !== '')
  return terms.map((term) => {
    const found = TERM.exec(term)
    if (found === null) throw new Error(`not understood: ${term}`)
    const [, permission, all, key, value = '', pattern, action = 'all', topics = 'all'] = found
    const who = all === 'all' ? 'all' : { key, value: pattern === undefined ? value : new RegExp(pattern) }
    const filters = topics === 'all' ? undefined : JSON.parse(topics)
    // The pattern above ensures that the values are valid.
    return { permission, who, action, topics: filters } as AclRule
  })
}

/** Reads the list of rights in a token, as EMQX does. */
export function toAclRules(list: unknown): readonly AclRule[] {
  // deploy/secrets.mjs wrote this list.
  const rules = list as readonly {
    readonly permission: 'allow' | 'deny'
    readonly action: AclRule['action']
    readonly topic?: string
    readonly topics?: readonly string[]
  }[]
  return rules.map(({ permission, action, topic, topics = topic === undefined ? [] : [topic] }) => {
    return { permission, who: 'all', action, topics }
  })
}

/**
 * Returns the verdict of the first rule that matches. A subscription is compared as text, like a topic, so only a rule with
 * a filter at least as wide allows it.
 */
export function judge(
  rules: readonly AclRule[],
  client: Client,
  { action, topic }: { readonly action: 'publish' | 'subscribe'; readonly topic: string },
): 'allow' | 'deny' | undefined {
  return rules.find(
    ({ who, action: on, topics }) =>
      (on === 'all' || on === action) &&
      isMeant(who, client) &&
      (topics?.some((filter) => isWithin(topic, toFilter(filter, client))) ?? true),
  )?.permission
}

function isMeant(who: AclRule['who'], client: Client): boolean {
  if (who === 'all') return true
  const name = client[who.key]
  if (name === undefined) return false
  return typeof who.value === 'string' ? name === who.value : who.value.test(name)
}

/** Returns undefined, which matches nothing, if the client lacks an attribute that the filter names. */
function toFilter(template: string, client: Client): string | undefined {
  let isWhole = true
  const filter = template.replace(/\$\{(?:(clientid)|client_attrs\.(\w+))\}/g, (_, clientid, attribute) => {
    const value = clientid === undefined ? client.client_attrs[attribute] : client.clientid
    isWhole &&= value !== undefined
    return value ?? ''
  })
  return isWhole ? filter : undefined
}

/** A filter that begins with a wildcard matches no topic that begins with `$`, as in MQTT. */
function isWithin(topic: string, filter: string | undefined): boolean {
  if (filter === undefined || (topic.startsWith('$') && /^[+#]/.test(filter))) return false
  return isMatch(filter, topic)
}
