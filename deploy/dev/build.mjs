// `npm run build`: installs and builds what is stale.
import './node-version.mjs'

const { prepare } = await import('./prepare.mjs')
try {
  await prepare()
} catch (error) {
  process.stderr.write(`fleet: ${error.message}\n`)
  process.exit(1)
}
