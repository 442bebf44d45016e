// Environment variables of the command line. No other file of the command line reads the environment.
import { homedir } from 'node:os'
import { join } from 'node:path'

type Variables = Readonly<Record<string, string | undefined>>

export interface Environment {
  readonly configDir: string
  /** The folder for state that programs keep across restarts. */
  readonly stateDir: string
  /** Variables that a file may refer to as `${NAME}`. */
  readonly variables: Variables
  readonly isPlain: boolean
  /** Used instead of a context, together with `token` (an access token or API key). */
  readonly url: string | undefined
  readonly token: string | undefined
  /** Settings of a service on this machine, for `fleet doctor`. The names and defaults are those of the service. */
  readonly service: {
    readonly httpPort: number
    readonly mqttPort: number
    readonly dataDir: string
  }
}

export function readEnvironment(variables: Variables = process.env): Environment {
  // An empty variable counts as unset, as both XDG and NO_COLOR specify.
  const read = (name: string) => (variables[name] === '' ? undefined : variables[name])
  const stateHome = read('XDG_STATE_HOME') ?? join(read('HOME') ?? homedir(), '.local', 'state')
  const configHome = read('XDG_CONFIG_HOME') ?? join(read('HOME') ?? homedir(), '.config')
  return {
    configDir: join(configHome, 'fleet'),
    stateDir: join(stateHome, 'fleet'),
    variables,
    isPlain: read('NO_COLOR') !== undefined || read('TERM') === 'dumb',
    url: read('FLEET_CLI_URL'),
    token: read('FLEET_CLI_TOKEN'),
    service: {
      httpPort: Number(read('FLEET_HTTP_PORT') ?? 8000),
      mqttPort: Number(read('FLEET_MQTT_PORT') ?? 1883),
      dataDir: read('FLEET_DATA_DIR') ?? './data',
    },
  }
}
