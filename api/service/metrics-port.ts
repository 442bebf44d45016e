// A port for metrics and probes alone, so that the API's can be open to the world without them.
import { type HttpOptions, type HttpServer, openHttp } from './open-http.ts'

export async function openMetricsPort(options: HttpOptions, port: number): Promise<HttpServer> {
  const { settings, logger, apiStores } = options
  const server = await openHttp({
    ...options,
    settings: { ...settings, httpPort: port },
    portSetting: 'FLEET_METRICS_PORT',
    onlyProbes: true,
    // What callers share is shared by what serves the API.
    apiStores: { ...apiStores, rates: undefined, downloadPlaces: undefined },
  })
  logger.info({ url: `${server.url}/metrics` }, 'metrics have a port of their own')
  return server
}
