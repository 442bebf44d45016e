// For tests: deploy/emqx/emqx.conf for an EMQX of its own on this machine: own ports, files and keys, and nothing else.

/** Ports on loopback. */
export interface EmqxPorts {
  /** Plain text, as in deploy/compose/dev.yaml. */
  readonly devices: number
  readonly services: number
  readonly rest: number
}

export interface EmqxFiles {
  readonly acl: string
  readonly apiKeys: string
  readonly serviceKey: string
}

/** Throws if a place that has to change is no longer in the file, or is there twice. */
export function toTestConf(
  source: string,
  { ports, files, jwks }: { readonly ports: EmqxPorts; readonly files: EmqxFiles; readonly jwks: string },
): string {
  const changes: readonly (readonly [from: string, to: string])[] = [
    ['bind = "0.0.0.0:18083"', `bind = "127.0.0.1:${ports.rest}"`],
    [
      'default { enable = false, bind = "0.0.0.0:1883" }',
      `default { enable = true, bind = "127.0.0.1:${ports.devices}" }`,
    ],
    ['bind = "0.0.0.0:1884"', `bind = "127.0.0.1:${ports.services}"`],
    ['access_rules = ["allow 10.0.0.0/8"', 'access_rules = ["allow 127.0.0.0/8", "allow 10.0.0.0/8"'],
    ['"/run/fleet/emqx-api-keys.txt"', JSON.stringify(files.apiKeys)],
    ['"/run/fleet/emqx-services.pem"', JSON.stringify(files.serviceKey)],
    ['"/opt/emqx/etc/acl.conf"', JSON.stringify(files.acl)],
    ['"http://fleet:8000/.well-known/jwks.json"', JSON.stringify(jwks)],
  ]
  return changes.reduce((text, [from, to]) => {
    const parts = text.split(from)
    if (parts.length !== 2) throw new Error(`emqx.conf has ${parts.length - 1} times: ${from}`)
    return parts.join(to)
  }, source)
}
