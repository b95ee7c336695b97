import { fileURLToPath } from 'node:url'
import { type BundlingOptions, OutputFormat, SourceMapMode } from 'aws-cdk-lib/aws-lambda-nodejs'
import type { Need } from '#shared/needs.ts'

// The AWS SDK imports these only when the environment has no credentials, and Lambda always sets them. A bundle omits them.
const UNUSED_CREDENTIAL_PROVIDERS = [
  '@aws-sdk/credential-provider-http',
  '@aws-sdk/credential-provider-ini',
  '@aws-sdk/credential-provider-process',
  '@aws-sdk/credential-provider-sso',
  '@aws-sdk/credential-provider-web-identity',
  '@smithy/credential-provider-imds',
]

const VERIFY_BUNDLE = fileURLToPath(new URL('../tools/verify-bundle.ts', import.meta.url))

/** How esbuild bundles a function with these needs. */
export const bundling = (needs: readonly Need[]): BundlingOptions => ({
  format: OutputFormat.ESM,
  target: 'node24',
  mainFields: ['module', 'main'],
  minify: true,
  sourceMap: true,
  sourceMapMode: SourceMapMode.DEFAULT,
  sourcesContent: false,
  // The tested version of the SDK, instead of the one that the runtime happens to have.
  bundleAwsSDK: true,
  externalModules: UNUSED_CREDENTIAL_PROVIDERS,
  banner: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);",
  commandHooks: {
    beforeInstall: () => [],
    beforeBundling: () => [],
    afterBundling: (from, to) => [
      `"${process.execPath}" "${VERIFY_BUNDLE}" "${to}/index.mjs"`,
      ...(needs.includes('database:owner') ? [`cp -r ${from}/migrations ${to}`] : []),
    ],
  },
})
