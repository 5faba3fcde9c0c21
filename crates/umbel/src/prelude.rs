//! Items of the standard library's prelude that `core`'s lacks: those of `alloc` and, without the standard library,
//! floating-point functions.

pub(crate) use alloc::borrow::ToOwned;
pub(crate) use alloc::format;
pub(crate) use alloc::string::{String, ToString};
pub(crate) use alloc::vec;
pub(crate) use alloc::vec::Vec;

#[cfg(not(feature = "std"))]
pub use real::Real;

/// The methods of `f64` that the standard library adds, from `libm`.
#[cfg(not(feature = "std"))]
#[allow(missing_docs)] // hidden
mod real {
    pub trait Real {
        fn ceil(self) -> f64;
        fn exp(self) -> f64;
        fn exp2(self) -> f64;
        fn exp_m1(self) -> f64;
        fn floor(self) -> f64;
        fn ln(self) -> f64;
        fn ln_1p(self) -> f64;
        fn log2(self) -> f64;
        fn powf(self, exponent: f64) -> f64;
        fn powi(self, exponent: i32) -> f64;
        fn round(self) -> f64;
        fn sqrt(self) -> f64;
    }

    impl Real for f64 {
        fn ceil(self) -> f64 {
            libm::ceil(self)
        }

        fn exp(self) -> f64 {
            libm::exp(self)
        }

        fn exp2(self) -> f64 {
            libm::exp2(self)
        }

        fn exp_m1(self) -> f64 {
            libm::expm1(self)
        }

        fn floor(self) -> f64 {
            libm::floor(self)
        }

        fn ln(self) -> f64 {
            libm::log(self)
        }

        fn ln_1p(self) -> f64 {
            libm::log1p(self)
        }

        fn log2(self) -> f64 {
            libm::log2(self)
        }

        fn powf(self, exponent: f64) -> f64 {
            libm::pow(self, exponent)
        }

        /// By squaring, as the compiler does: halves of a power of two stay exact.
        fn powi(self, exponent: i32) -> f64 {
            let (mut power, mut base, mut left) = (1.0, self, exponent.unsigned_abs());
            while left > 0 {
                if left % 2 == 1 {
                    power *= base;
                }
                base *= base;
                left /= 2;
            }
            if exponent < 0 { 1.0 / power } else { power }
        }

        fn round(self) -> f64 {
            libm::round(self)
        }

        fn sqrt(self) -> f64 {
            libm::sqrt(self)
        }
    }
}
