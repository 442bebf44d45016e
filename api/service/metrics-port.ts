// A separate port for metrics and probes, so that the API port can be public without exposing them.
import { type HttpOptions, type HttpServer, openHttp } from './open-http.ts'

export async function openMetricsPort(options: HttpOptions, port: number): Promise<HttpServer> {
  const { settings, logger, apiStores } = options
  const server = await openHttp({
    ...options,
    settings: { ...settings, httpPort: port },
    portSetting: 'FLEET_METRICS_PORT',
    onlyProbes: true,
    // The server of the API counts these itself.
    apiStores: { ...apiStores, rates: undefined, downloadPlaces: undefined },
  })
  logger.info({ url: `${server.url}/metrics` }, 'metrics have a port of their own')
  return server
}
