/// The version of both programs, of the User-Agent and of the package.
package let rosterdVersion = "0.3.0"
